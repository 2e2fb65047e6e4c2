"""Secrets are redacted. Statements about secrets, and ordinary numbers, stay."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.text.secrets.redact import redact
from tests.sampling import Sample

# Keys are assembled from parts, so that secret scanners do not report this file.
MIX = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
OPENAI = f"sk-{MIX}"
OPENAI_PROJECT = f"sk-proj-{MIX}_{MIX[:20]}-{MIX[:9]}"
ANTHROPIC = f"sk-ant-api03-{MIX}-{MIX}AA"
OPENROUTER = "sk-or-v1-" + "0a1b2c3d" * 8
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"
GITHUB = f"ghp_{MIX[:36]}"
GITHUB_FINE = f"github_pat_{MIX[:22]}_{MIX}"
GOOGLE = f"AIza{MIX[:35]}"
SLACK = f"xoxb-123456789012-{MIX[:24]}"
STRIPE = f"sk_live_{MIX[:24]}"
HUGGING = f"hf_{MIX[:34]}"
NPM = f"npm_{MIX[:36]}"
PYPI = f"pypi-AgEIcHlwaS5vcmc{MIX}"
JWT = f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{MIX}"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{MIX}{MIX[:24]}\n{MIX}{MIX[:24]}\n-----END RSA PRIVATE KEY-----"
PGP = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{MIX}\n=ab1C\n-----END PGP PRIVATE KEY BLOCK-----"
SEED = "abandon ability able about above absent absorb abstract absurd abuse access accident"
VISA, AMEX, MASTER = "4111 1111 1111 1111", "378282246310005", "5555-5555-5555-4444"

# Text, the secret in it, and its kind.
SECRET = [
    (f"My OpenAI key is {OPENAI}", OPENAI, "api key"),
    (f"export OPENAI_API_KEY={OPENAI_PROJECT}", OPENAI_PROJECT, "api key"),
    (f"la clave de la API es {OPENAI}, guárdala", OPENAI, "api key"),
    (f"ANTHROPIC_API_KEY='{ANTHROPIC}'", ANTHROPIC, "api key"),
    (f"usa {OPENROUTER} para las pruebas", OPENROUTER, "api key"),
    (f"aws_access_key_id = {AWS}", AWS, "api key"),
    (f"aws_secret_access_key = {AWS_SECRET}", AWS_SECRET, "api key"),
    (f"AWS_SECRET_ACCESS_KEY={AWS_SECRET}", AWS_SECRET, "api key"),
    (f"git clone https://{GITHUB}@github.com/ana/shop", GITHUB, "api key"),
    (f"token nuevo: {GITHUB}", GITHUB, "api key"),
    (f"{GITHUB_FINE} is the fine-grained one", GITHUB_FINE, "api key"),
    (f"maps key {GOOGLE}", GOOGLE, "api key"),
    (f"SLACK_BOT_TOKEN={SLACK}", SLACK, "api key"),
    (f"el bot usa {SLACK}.", SLACK, "api key"),
    (f"stripe: {STRIPE}", STRIPE, "api key"),
    (f"STRIPE_KEY=rk_test_{MIX[:24]}", f"rk_test_{MIX[:24]}", "api key"),
    (f"login with {HUGGING}", HUGGING, "api key"),
    (f"//registry.example/:_authToken={NPM}", NPM, "api key"),
    (f"password = {PYPI}", PYPI, "api key"),
    (f"GITLAB={'glpat-' + MIX[:20]}", "glpat-" + MIX[:20], "api key"),
    (f"SENDGRID=SG.{MIX[:22]}.{MIX}", f"SG.{MIX[:22]}.{MIX}", "api key"),
    (f"telegram 123456789:AA{MIX[:33]}", f"AA{MIX[:33]}", "api key"),
    (f"https://hooks.slack.com/services/T0{MIX[:9]}/B0{MIX[:9]}/{MIX[:24]}", MIX[:24], "api key"),
    ("my api key is 9f8e7d6c5b4a", "9f8e7d6c5b4a", "api key"),
    ("X-API-Key: 9f8e7d6c5b4a", "9f8e7d6c5b4a", "api key"),
    ('{"client_secret": "GzQ8-aa71Lkw"}', "GzQ8-aa71Lkw", "api key"),
    ("la clave secreta es Kd83jd02msl", "Kd83jd02msl", "api key"),
    (f"the session cookie: {JWT}", JWT, "token"),
    (f"Authorization: Bearer {MIX}", MIX, "token"),
    ("curl -H 'Authorization: Bearer abc123def456ghi7'", "abc123def456ghi7", "token"),
    ("Authorization: Basic YW5hOmh1bnRlcjI=", "YW5hOmh1bnRlcjI=", "token"),
    ("my access token is 71c02ab94ef0", "71c02ab94ef0", "token"),
    ("el token de acceso es 71c02ab94ef0", "71c02ab94ef0", "token"),
    (f"here it is:\n{PEM}\nkeep it", MIX, "private key"),
    (f"mi llave:\n{PGP}", MIX, "private key"),
    ("postgres://ana:s3cret@db.example.com:5432/shop", "s3cret", "password"),
    ("mongodb+srv://root:p@ss@cluster0.example.net/test", "p@ss", "password"),
    ("la base está en mysql://ana:Verano24@localhost/tienda", "Verano24", "password"),
    ("redis://:hunter2@cache:6379", "hunter2", "password"),
    ("Server=db;User=ana;Password=Verano24;Timeout=5", "Verano24", "password"),
    ("password: hunter2", "hunter2", "password"),
    ("Password: swordfish", "swordfish", "password"),
    ('{"user": "ana", "password": "Tr0ub4dor&3"}', "Tr0ub4dor&3", "password"),
    ("DB_PASSWORD=Verano24", "Verano24", "password"),
    ("user: ana pass: hunter2", "hunter2", "password"),
    ("My password is hunter2.", "hunter2", "password"),
    ("my password is swordfish", "swordfish", "password"),
    ("The wifi password is 'blue lagoon'", "blue lagoon", "password"),
    ("my netflix password's Fl1ckz!", "Fl1ckz!", "password"),
    ("The password for my laptop is Qwerty99, don't tell", "Qwerty99", "password"),
    ("I changed my password to Otono2025!", "Otono2025!", "password"),
    ("My passphrase is correct horse battery staple", "correct horse battery staple", "password"),
    ("log in with password hunter22 please", "hunter22", "password"),
    ("my passcode is 4471", "4471", "password"),
    ("my old password was swordfish, now it's another", "swordfish", "password"),
    ("La contraseña es Verano24", "Verano24", "password"),
    ("la contraseña del wifi es patatas", "patatas", "password"),
    ("Contraseña: Verano24", "Verano24", "password"),
    ("mi contraseña de gmail es 'luna llena'", "luna llena", "password"),
    ("mi clave es girasol", "girasol", "password"),
    ("mi clave del banco es 8841", "8841", "password"),
    ("La clave es gato1234.", "gato1234", "password"),
    ("clave: Gato-1234", "Gato-1234", "password"),
    ("cambié mi contraseña a Otono2025", "Otono2025", "password"),
    ("contrasena=Verano24&usuario=ana", "Verano24", "password"),
    ("password -> hunter2", "hunter2", "password"),
    ('La contraseña nueva es "otoño rojo"', "otoño rojo", "password"),
    ("contraseña wifi: MOVISTAR_8F2A", "MOVISTAR_8F2A", "password"),
    ("clave wifi Sol2020luna", "Sol2020luna", "password"),
    ("Passw0rd for VPN = Ab12cd34", "Ab12cd34", "password"),
    ("login ana@example.org Ab12cd34!", "Ab12cd34!", "password"),
    (f"root:$6$rounds=5000$abcdEFGH${MIX}{MIX}.:19000:0:99999:7:::", MIX, "password"),
    (f"hash $2b$12${MIX}abcdefghijklm", MIX, "password"),
    ("apikey=abcd1234efgh5678", "abcd1234efgh5678", "api key"),
    ("Mi NIP es 4410", "4410", "pin"),
    ("My PIN is 4021", "4021", "pin"),
    ("card pin: 4021", "4021", "pin"),
    ("El PIN de la tarjeta es 4021", "4021", "pin"),
    ("mi pin es el 4021, no lo digas", "4021", "pin"),
    ("CVV 123", "123", "security code"),
    ("the cvc is 9876", "9876", "security code"),
    ("el código de seguridad de la tarjeta es 321", "321", "security code"),
    (f"My card is {VISA}, exp 12/27", VISA, "card number"),
    (f"paga con {MASTER}", MASTER, "card number"),
    (f"amex {AMEX}", AMEX, "card number"),
    ("tarjeta:4111111111111111", "4111111111111111", "card number"),
    (f"My seed phrase is: {SEED}", SEED, "seed phrase"),
    (f"mi frase semilla es {SEED}", SEED, "seed phrase"),
    (f"frase de recuperación: {SEED.replace(' ', ', ')}", SEED.replace(" ", ", "), "seed phrase"),
]

ORDINARY = [
    "login ana@example.org then restart",
    "It costs $5 and $6, or $1$ in the old notation",
    "I forgot my password.",
    "My password is none of your business.",
    "The password is Ana's birthday.",
    "La contraseña es el cumpleaños de Ana.",
    "password reset email sent to ana@x.com",
    "La clave es Python.",
    "api key: see 1Password",
    "session token expired at 10:45",
    "Olvidé mi contraseña.",
    "I use a password manager called 1Password.",
    "Uso un gestor de contraseñas.",
    "The password policy is strict.",
    "My password is too short.",
    "My password is strong.",
    "my password is 8 characters long",
    "My password was stolen!",
    "My password is expired and I need help",
    "Password: must be at least 8 characters",
    "Password: required",
    "password: ********",
    "password = os.environ['DB_PASSWORD']",
    'password = getpass.getpass("Password: ")',
    "DB_PASSWORD=${DB_PASSWORD}",
    "Password: <your password>",
    "What is the password?",
    "The password is in the manager, under Netflix.",
    "I reset my password to get back in.",
    "I forgot my password to Netflix.",
    "the password is base64 encoded",
    "La contraseña es muy larga.",
    "la contraseña es incorrecta",
    "Mi contraseña está guardada en el gestor.",
    "La política de contraseñas es estricta.",
    "La contraseña es obligatoria.",
    "La clave es la paciencia.",
    "La clave del éxito es trabajar.",
    "La palabra clave es interesante.",
    "The key is to keep trying.",
    "The secret is out.",
    "My secret is that I love ABBA.",
    "The secret ingredient is cinnamon.",
    "The token limit is 128000.",
    "max_tokens: 4096",
    "Each token costs 2 cents.",
    "Bearer of bad news: it rained.",
    "She is the standard bearer tonight.",
    "The API key is rotated every 90 days.",
    "Where do I find my API key?",
    "Call me at +34 600 123 456.",
    "My phone is (415) 555-2671 or 415-555-2672.",
    "Mi teléfono es 11 4567 8901.",
    "Order number 1234567890123456 has shipped.",
    "order #4111111111111111 has shipped",
    "Pedido nº 4111111111111111 enviado",
    "Tracking 1Z999AA10123456784",
    "My IBAN is ES91 2100 0418 4502 0005 1332.",
    "IMEI 490154203237518",
    "It happened on 2024-03-15 at 10:45:30.",
    "timestamp 1700000000000",
    "Fixed in commit 3f2a9c1b7d8e4f5061728394a5b6c7d8e9f0a1b2.",
    "See commit 3f2a9c1 on main.",
    "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "id 550e8400-e29b-41d4-a716-446655440000",
    "https://example.com/path?x=1&y=2",
    "http://localhost:8080/users?email=ana@example.com",
    "Write to ana@example.com: she answers.",
    "git@github.com:ana/shop.git",
    "ssh://git@github.com:22/ana/shop",
    "I use sk-learn and sk-image-extras-for-everyone a lot.",
    "pip install pypi-mirror-of-many-packages-and-more",
    "Connect the LED to pin 13.",
    "Pin this message, please.",
    "El pin de solapa es bonito.",
    "Pin code area 560001 in Bangalore",
    "A security code of conduct.",
    "My boarding pass: BA2490",
    "All tests pass: 120 of 120.",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ana@home",
    "My recovery phrase is something I wrote down on paper and keep in a safe place at home.",
    "La frase semilla se guarda en papel.",
    "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
    "0.4111111111111111",
    "The year 2024 was 365 days long and 1984 is a book.",
    "Invoice 2024-000123 for 1.234,56 €",
    "ISBN 978-3-16-148410-0",
    "Flight IB6830 seat 12A, booking QX7T2P",
    "[redacted password]",
    "My password is [redacted password].",
]


@pytest.mark.parametrize(("text", "secret", "kind"), SECRET, ids=range(len(SECRET)))
def test_a_secret_is_replaced_by_its_kind(text: str, secret: str, kind: str) -> None:
    redacted = redact(text)
    assert secret not in redacted.text
    assert f"[redacted {kind}]" in redacted.text
    assert kind in redacted.found


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_talk_stays_as_it_is(text: str) -> None:
    redacted = redact(text)
    assert (redacted.text, redacted.found) == (text, ())


def test_only_the_secret_is_removed() -> None:
    assert redact("Hi, my password is hunter2. My cat is Mia.").text == "Hi, my password is [redacted password]. My cat is Mia."
    assert redact("postgres://ana:s3cret@db:5432/shop").text == "postgres://ana:[redacted password]@db:5432/shop"


@pytest.mark.parametrize("label", ["password: hunter2", "contraseña: hunter2", "pwd=hunter2"])
def test_a_label_right_after_a_removed_secret_is_read_too(label: str) -> None:
    redacted = redact(f"{VISA.replace(' ', '')}{label}")
    assert "hunter2" not in redacted.text
    assert set(redacted.found) == {"card number", "password"}


def test_every_kind_found_is_named_once() -> None:
    redacted = redact(f"password: hunter2, password: hunter3, card {VISA}, key {OPENAI}")
    assert sorted(redacted.found) == ["api key", "card number", "password"]


def test_a_private_key_without_its_end_line_is_redacted_and_the_text_after_it_stays() -> None:
    redacted = redact(f"-----BEGIN PRIVATE KEY-----\n{MIX}{MIX}\n{MIX} and that is all I have")
    assert redacted.text == "[redacted private key] and that is all I have"


def test_there_are_enough_examples() -> None:
    assert len(SECRET) >= 60
    assert len(ORDINARY) >= 60


@pytest.mark.parametrize("text", [text for text, _, _ in SECRET])
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redact(text).text
    assert redact(once).text == once


PIECES = (
    [text for text, _, _ in SECRET]
    + ORDINARY
    + [" ", "\n", ": ", "'", '"', "=", "password ", "is ", "://", "@", "pin ", "-----BEGIN "]
)


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=5).map("".join))
def test_redacting_any_generated_text_again_changes_nothing(text: str) -> None:
    once = redact(text).text
    assert redact(once).text == once


MEGABYTES: dict[str, Callable[[int], str]] = {
    "prose": lambda n: (
        "Ana wrote to her sister about the password manager and the 12 tokens she had kept since 2019. " * (n * 11_000)
    ),
    "digits": lambda n: "4111 1111 " * (n * 100_000),
    "one word": lambda n: "password" * (n * 125_000),
    "labels": lambda n: "password: " * (n * 50_000) + "words " * (n * 80_000),
    "key begins": lambda n: "-----BEGIN PRIVATE KEY-----" * (n * 38_000),
    "addresses": lambda n: "://a:" * (n * 200_000),
    "base64": lambda n: MIX * (n * 25_000),
    "spaces": lambda n: "password is" + " " * (n * 1_000_000),
    "dots": lambda n: "eyJ" * (n * 330_000),
    "seeds": lambda n: "seed phrase: able " * (n * 55_000),
}
"""Functions that return N megabytes of text."""


@pytest.mark.long
@pytest.mark.parametrize("name", MEGABYTES)
def test_megabytes_are_read_in_linear_time(sample: Sample, name: str) -> None:
    megabytes = sample.size(10, short=2)
    text = MEGABYTES[name](megabytes)
    began = time.thread_time()
    redact(text)
    took = time.thread_time() - began
    assert took < 6 * megabytes, f"{took:.1f} s"
