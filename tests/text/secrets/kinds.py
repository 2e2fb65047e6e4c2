"""Generated secrets of many kinds, and ordinary text that resembles secrets. The same seed generates the same examples."""

import base64
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

LETTERS = string.ascii_letters + string.digits
BASE32 = string.ascii_uppercase + "234567"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
WORDS = "amber river stone lantern copper meadow harbor violet thunder maple pepper cotton silver garden".split()


@dataclass(frozen=True)
class Secret:
    """One secret, and a text that contains it."""

    kind: str
    value: str
    text: str


class Source:
    """Random values from fixed alphabets."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def of(self, alphabet: str, length: int) -> str:
        """Return random characters of an alphabet. At least three of them are digits, as in nearly every real key."""
        while True:
            made = "".join(self.random.choice(alphabet) for _ in range(length))
            if sum(letter.isdigit() for letter in made) >= 3:
                return made

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def password(self) -> str:
        return f"{self.one(*WORDS).capitalize()}{self.random.randint(10, 9999)}{self.one('', '!', '#', '&x')}"

    def hex(self, length: int) -> str:
        return self.of("0123456789abcdef", length)

    def checked(self, prefix: str, length: int) -> str:
        """Return a number that starts with a prefix and ends with a valid check digit. ``length`` is even."""
        rest = "".join(self.random.choice(string.digits) for _ in range(length - len(prefix) - 1))
        digits = [int(digit) for digit in prefix + rest]
        doubled = [each * 2 - 9 * (each > 4) if place % 2 == 0 else each for place, each in enumerate(digits)]
        return "".join(map(str, [*digits, -sum(doubled) % 10]))

    def card(self) -> str:
        number = self.checked(self.one("4539", "5412", "4716"), 16)
        return self.one(number, " ".join(_fours(number)))


def _fours(number: str) -> list[str]:
    return [number[start : start + 4] for start in range(0, len(number), 4)]


def _full_width(text: str) -> str:
    return "".join(chr(ord(letter) + 0xFEE0) for letter in text)


def _uuid(source: Source) -> str:
    return "-".join(source.hex(length) for length in (8, 4, 4, 4, 12))


def _aws(source: Source) -> str:
    return source.of(LETTERS + "/+", 40)


def _base64(source: Source, length: int) -> str:
    return base64.b64encode(source.random.randbytes(length)).decode()


KINDS: dict[str, Callable[[Source], tuple[str, str]]] = {
    "holdfast": lambda s: (f"hf_{s.of(CROCKFORD, 16)}_{s.of(LETTERS + '_-', 43)}", s.one("our key {}", "Authorization: Bearer {}", "{}")),
    "openai": lambda s: (f"sk-proj-{s.of(LETTERS, 48)}", s.one("use {} today", "OPENAI_API_KEY={}")),
    "anthropic": lambda s: (f"sk-ant-api03-{s.of(LETTERS + '_-', 93)}AA", "x-api-key: {}"),
    "github": lambda s: (f"ghp_{s.of(LETTERS, 36)}", "git clone https://{}@github.com/ana/shop"),
    "gitlab": lambda s: (f"glpat-{s.of(LETTERS, 20)}", "the runner has {}"),
    "slack": lambda s: (f"xoxb-{s.random.randint(10**11, 10**12)}-{s.of(LETTERS, 24)}", "bot {}"),
    "stripe": lambda s: (f"sk_live_{s.of(LETTERS, 24)}", "stripe {}"),
    "google": lambda s: (f"AIza{s.of(LETTERS + '_-', 35)}", "maps {}"),
    "hugging face": lambda s: (f"hf_{s.of(LETTERS, 34)}", "login {}"),
    "aws id": lambda s: (f"AKIA{s.of(string.ascii_uppercase + string.digits, 16)}", "id {}"),
    "aws secret": lambda s: (_aws(s), "aws_secret_access_key = {}"),
    "azure": lambda s: (_base64(s, 64), "DefaultEndpointsProtocol=https;AccountName=ana;AccountKey={};EndpointSuffix=core.windows.net"),
    "discord": lambda s: (f"M{s.of(LETTERS, 25)}.{s.of(LETTERS, 6)}.{s.of(LETTERS + '_-', 38)}", "bot token {}"),
    "age": lambda s: (f"AGE-SECRET-KEY-1{s.of(BASE32, 58)}", "{}"),
    "mailgun": lambda s: (f"key-{s.hex(32)}", "mailgun {}"),
    "heroku": lambda s: (_uuid(s), "HEROKU_API_KEY={}"),
    "postgres": lambda s: (s.password(), "PGPASSWORD={} psql -h db.example"),
    "curl": lambda s: (s.password(), s.one("curl -u ana:{} https://x.example", "curl -s --user 'ana:{}' https://x.example")),
    "mysql": lambda s: (s.password(), "mysql -u root -p{} shop"),
    "url": lambda s: (s.password(), s.one("postgres://ana:{}@db.example/shop", "redis://:{}@cache:6379")),
    "totp": lambda s: (s.of(BASE32, 16), s.one("TOTP seed: {}", "the 2FA secret is {}", "otpauth://totp/Ex:ana?secret={}&issuer=Ex")),
    "one-time": lambda s: (str(s.random.randint(100_000, 999_999)), s.one("Your verification code is {}.", "{} is your login code", "código de verificación: {}")),
    "jwt": lambda s: (f"eyJ{s.of(LETTERS, 33)}.eyJ{s.of(LETTERS, 60)}.{s.of(LETTERS + '_-', 43)}", "cookie {}"),
    "pem": lambda s: (_base64(s, 48), "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----"),
    "card": lambda s: (s.card(), s.one("my card is {}, exp 09/28", "tarjeta {}")),
    "english": lambda s: (s.password(), s.one("my password is {}", "password: {}", "the wifi password? it's {}")),
    "spanish": lambda s: (s.password(), s.one("la contraseña es {}", "mi clave del banco es {}")),
    "french": lambda s: (s.password(), s.one("mon mot de passe est {}", "mot de passe : {}")),
    "german": lambda s: (s.password(), s.one("mein Passwort ist {}", "das Kennwort lautet {}")),
    "portuguese": lambda s: (s.password(), s.one("minha senha é {}", "a palavra-passe é {}")),
    "pin": lambda s: (str(s.random.randint(1000, 9999)), s.one("My PIN is {}", "mon code PIN est {}", "meine PIN ist {}")),
    "hidden": lambda s: (f"sk-{s.of(LETTERS, 20)}\u200b{s.of(LETTERS, 20)}", "key {}"),
    "full width": lambda s: (_full_width(f"ghp_{s.of(LETTERS, 36)}"), "{}"),
    "escaped": lambda s: (f"ghp_{s.of(LETTERS, 36)}", "https://x.example/?a=1%26t%3D{}"),
    "unknown provider": lambda s: (f"{s.one('secret', 'rnd', 'pcsk', 'CFPAT', 'm0', 'HRKU', 'fo1')}{s.one('_', '-')}{s.of(LETTERS, s.random.randint(32, 60))}", s.one("{}", "KEY={}", "it gave me {}.")),
    "hugging face letters": lambda s: (f"hf_{''.join(s.random.choice(string.ascii_letters) for _ in range(34))}", "login {}"),
    "elevenlabs": lambda s: (f"sk_{s.hex(48)}", "voice {}"),
    "firecrawl": lambda s: (f"fc-{s.hex(32)}", "{}"),
    "langsmith": lambda s: (f"lsv2_pt_{s.hex(32)}_{s.hex(10)}", "{}"),
    "brevo": lambda s: (f"xkeysib-{s.hex(64)}-{s.of(LETTERS, 16)}", "{}"),
    "supabase": lambda s: (f"sb_secret_{s.of(LETTERS, 22)}_{s.of(LETTERS, 8)}", "{}"),
    "cloudflare": lambda s: (f"v1.0-{s.hex(24)}-{s.hex(146)}", "{}"),
    "google refresh": lambda s: (f"1//0{s.of(LETTERS + '_-', 100)}", "{}"),
    "facebook": lambda s: (f"EAA{s.of(LETTERS, 180)}", "{}"),
    "crates": lambda s: (f"cio{s.of(LETTERS, 32)}", "{}"),
    "nuget": lambda s: (f"oy2{s.of(string.ascii_lowercase + string.digits, 43)}", "{}"),
    "mailchimp": lambda s: (f"{s.hex(32)}-us{s.random.randint(1, 21)}", "{}"),
    "azure client": lambda s: (f"{s.of(LETTERS, 6)[:3]}8Q~{s.of(LETTERS, 34)}", "{}"),
    "wallet": lambda s: (s.one(f"5{s.of(BASE58, 50)}", f"L{s.of(BASE58, 51)}", f"xprv{s.of(BASE58, 107)}"), "{}"),
    "teams": lambda s: (f"{s.hex(32)}/{s.hex(8)}", "https://outlook.webhook.office.com/webhookb2/1@x/IncomingWebhook/{}"),
    "variable": lambda s: (f"{_uuid(s)}:{s.hex(32)}", "FAL_KEY={}"),
    "cookie": lambda s: (s.of(LETTERS, 40), s.one("Cookie: sid={}; theme=dark", "Set-Cookie: a=b; sid={}; Path=/")),
    "sql": lambda s: (s.password(), s.one("CREATE USER ana WITH PASSWORD '{}';", "ALTER USER ana IDENTIFIED BY '{}';")),
    "php": lambda s: (s.password(), "define('DB_PASSWORD', '{}');"),
    "xml": lambda s: (s.password(), "<user>ana</user><password>{}</password>"),
    "oracle": lambda s: (s.of(LETTERS, 12), "jdbc:oracle:thin:ana/{}@//h:1521/x"),
    "net use": lambda s: (s.password(), r"net use Z: \\srv\share /user:ana {}"),
    "pgpass": lambda s: (s.password(), "db.example:5432:shop:ana:{}"),
    "for": lambda s: (s.password(), s.one("my password for github: {}", "contraseña de Netflix: {}", "password (wifi): {}", "Passwort für das WLAN: {}", "Mi clave de la banca online: {}")),
    "dash": lambda s: (s.password(), "Wifi password - {}"),
    "after a user": lambda s: (s.password(), s.one("username ana, pass {}", "usuario ana / clave {}")),
    "credentials": lambda s: (s.password(), s.one("creds ana:{}", "credenciales: ana/{}", "la contra del wifi es {}")),
    "key alone": lambda s: (s.hex(24), s.one("encryption key {}", "api-key {} works")),
    "maestro": lambda s: (s.checked("6759", 16), "card {}"),
    "dotted card": lambda s: (".".join(part for part in _fours(s.checked("4539", 16))), "visa {}"),
}  # fmt: skip


def secrets(number: int, *, seed: int) -> Iterator[Secret]:
    """Yield secrets, each kind in turn."""
    source, names = Source(seed), list(KINDS)
    for place in range(number):
        kind = names[place % len(names)]
        value, template = KINDS[kind](source)
        yield Secret(kind=kind, value=value, text=template.format(value))


def _count(source: Source, digits: int) -> str:
    return str(source.random.randint(10 ** (digits - 1), 10**digits - 1))


LOOK_ALIKES: tuple[Callable[[Source], str], ...] = (
    lambda s: f"Fixed in commit {s.hex(40)}.",
    lambda s: f"sha256 {s.hex(64)}",
    lambda s: f"the id is {_uuid(s)}",
    lambda s: f"memory mem_{s.of(CROCKFORD, 26)} and session ses_{s.of(CROCKFORD, 26)}",
    lambda s: f"Order number {_count(s, 16)} has shipped.",
    lambda s: f"Call me at +34 600 {_count(s, 3)} {_count(s, 3)}.",
    lambda s: f"My IBAN is ES91 2100 {_count(s, 4)} {_count(s, 4)} {_count(s, 4)} {_count(s, 4)}.",
    lambda s: f"https://example.com/{s.one(*WORDS)}/{s.hex(12)}?page={_count(s, 2)}",
    lambda s: f"src/{s.one(*WORDS)}/{s.one(*WORDS)}/{s.one(*WORDS)}_{_count(s, 2)}.py line {_count(s, 3)}",
    lambda s: f"Tracking 1Z{s.of(string.ascii_uppercase + string.digits, 16)}",
    lambda s: f"The meeting code of room {s.one(*WORDS)} is on the door.",
    lambda s: f"I forgot my password for {s.one(*WORDS)}.example again.",
    lambda s: "My password is " + s.one("too short", "expired", "none of your business", "strong", "in the manager"),
    lambda s: "La contraseña es " + s.one("muy larga", "incorrecta", "obligatoria", "el cumpleaños de Ana"),
    lambda s: "Mon mot de passe est " + s.one("trop court", "expiré", "incorrect", "dans le coffre"),
    lambda s: "Mein Passwort ist " + s.one("zu kurz", "abgelaufen", "falsch", "im Tresor"),
    lambda s: "Minha senha é " + s.one("muito fraca", "segura", "a mesma de antes"),
    lambda s: f"The {s.one('API', 'secret', 'house')} key is {s.one('rotated every 90 days', 'under the mat', 'in the vault')}.",
    lambda s: f"The token limit is {_count(s, 6)}.",
    lambda s: f"flight {s.one('IB', 'BA', 'LH')}{_count(s, 4)}, booking {s.of(string.ascii_uppercase + string.digits, 6)}",
    lambda s: f"My booking confirmation code is {s.of(string.ascii_uppercase + string.digits, 6)}.",
    lambda s: f"ISBN 978-{_count(s, 1)}-{_count(s, 2)}-{_count(s, 6)}-{_count(s, 1)}",
    lambda s: f"{s.one('build', 'version', 'port')} {_count(s, 4)} at {_count(s, 2)}:{_count(s, 2)}",
    lambda s: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{s.of(LETTERS, 43)} ana@home",
    lambda s: f"postcode {_count(s, 5)}, plot {_count(s, 6)}, {s.one(*WORDS)} street {_count(s, 2)}",
    lambda s: f"mysql -u root -p {s.one(*WORDS)}; curl -u ana https://x.example/{s.one(*WORDS)}",
    lambda s: f"password = os.environ['{s.one(*WORDS).upper()}_PASSWORD']",
    lambda s: f"{s.one(*WORDS).capitalize()}{s.one(*WORDS).capitalize()}{s.one(*WORDS).capitalize()}Service{_count(s, 2)}",
    lambda s: f"sk-{s.one(*WORDS)}-{s.one(*WORDS)} and hf_{s.one(*WORDS)}_{s.one(*WORDS)}",
    lambda s: f"{s.one(*WORDS)}-{s.one(*WORDS)}-{s.one(*WORDS)}-{s.one(*WORDS)}-{s.one(*WORDS)}-{s.one(*WORDS)}-{_count(s, 4)}",
    lambda s: f"pod {s.one(*WORDS)}-{s.one(*WORDS)}-{s.hex(10)}-{s.of(CROCKFORD, 5)} and user-{_uuid(s).upper()}",
    lambda s: f"https://docs.google.com/document/d/1{s.of(LETTERS + '_-', 43)}/edit",
    lambda s: f'integrity="sha384-{_base64(s, 48)}" and sha256-{s.of(LETTERS, 43)}=',
    lambda s: f"the public key pk_live_{s.of(LETTERS, 40)} is in the page",
    lambda s: f"request req_{s.of(LETTERS, 24)}, chatcmpl-{s.of(LETTERS, 29)}, price_{s.of(LETTERS, 24)}",
    lambda s: f"The {s.one(*WORDS).capitalize()}-{s.one(*WORDS).capitalize()}-AndTheVeryLongNameOfTheirOffice in {_count(s, 4)}",
    lambda s: f"CACHE_KEY=users:{_count(s, 3)} and PRIMARY_KEY=id",
    lambda s: s.one(
        "Forgot password - help",
        "the pass for the museum: 2024",
        "la clave del éxito: 3 horas de sueño",
        "key (major): C",
        "en contra: 1200 votos",
        "the api key rotation2024",
        "street creds: 100/100",
    ),
    lambda s: f"Cookie: recipe with {s.one(*WORDS)} = {_count(s, 2)} grams",
    lambda s: f"server 10.0.{_count(s, 2)}.{_count(s, 2)}:5432 with {_count(s, 4)}.{_count(s, 4)} rows",
    lambda s: f"user {s.one(*WORDS)} shall not pass {s.one(*WORDS)} twice",
    lambda s: f"The PIN connector {_count(s, 2)} is loose, and pin {_count(s, 2)} too.",
)


def look_alikes(number: int, *, seed: int) -> Iterator[str]:
    """Yield ordinary texts that resemble secrets, each kind in turn."""
    source = Source(seed)
    return (LOOK_ALIKES[place % len(LOOK_ALIKES)](source) for place in range(number))
