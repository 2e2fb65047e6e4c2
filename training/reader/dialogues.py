"""Read the dialogues that the real clauses were taken from. Each reader yields (name, turns).

A turn is a pair: True if the user speaks, and the text. Consecutive messages of one speaker form one turn. The data sets are bare
git directories, named ``owner+name/repo``, in one folder, at the commits listed in ``README.md``. Their text is not stored in
this repository.
"""

import csv
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator

from data.sources import Mirror

Turn = tuple[bool, str]
Dialogue = tuple[str, list[Turn]]
PHOTO = "[shares a photo]"


def merge(messages: Iterable[tuple[bool, str]]) -> list[Turn]:
    """Join consecutive messages of one speaker into turns: with a space for the user, and with a slash for the other speaker."""
    turns: list[tuple[bool, list[str]]] = []
    for is_user, message in messages:
        text = " ".join(message.split())
        if not text:
            continue
        if turns and turns[-1][0] == is_user:
            turns[-1][1].append(text)
        else:
            turns.append((is_user, [text]))
    return [(is_user, (" " if is_user else " / ").join(texts)) for is_user, texts in turns]


def pick(name: str) -> int:
    """Choose which of the two speakers is the user. The choice depends only on the name of the dialogue."""
    return hashlib.sha256(name.encode()).digest()[0] % 2


def photochat(mirror: Mirror) -> Iterator[Dialogue]:
    """Yield chats of crowd workers who share a photo."""
    for path, content in mirror.files("google-research/google-research", r"multimodalchat/photochat/.*\.json"):
        part = path.rsplit("/", 1)[1].removesuffix(".json")
        for row in json.loads(content):
            name = f"{part}-{row['dialogue_id']}"
            user = pick(name)
            said = [(turn["user_id"] == user, PHOTO if turn["share_photo"] else turn["message"]) for turn in row["dialogue"]]
            yield name, merge(said)


def meena(mirror: Mirror) -> Iterator[Dialogue]:
    """Yield chats of people with each other and with two chatbots."""
    for path, content in mirror.files("google-research/google-research", r"meena/(human|meena|mitsuku)\.txt"):
        other = path.rsplit("/", 1)[1].removesuffix(".txt")
        blocks = [block for block in re.split(r"\n\s*\n", content.decode()) if block.strip()]
        for number, block in enumerate(blocks):
            name = f"{other}-{number}"
            user = ("Human 1", "Human 2")[pick(name)] if other == "human" else "Human"
            lines = re.finditer(r"^(Human(?: [12])?|Meena|Mitsuku|[A-Z]\w+): ?(.*)$", block, re.MULTILINE)
            yield name, merge((line[1] == user, line[2]) for line in lines)


def persuasion(mirror: Mirror) -> Iterator[Dialogue]:
    """Yield talks in which the user is asked for a donation."""
    said: dict[str, list[tuple[bool, str]]] = {}
    for _, content in mirror.files("Sea-Snell/persuasionforgood", r"data/FullData/full_dialog\.csv"):
        for row in csv.DictReader(io.StringIO(content.decode())):
            said.setdefault(row["B2"], []).append((row["B4"] == "1", row["Unit"]))
    for name, messages in said.items():
        yield name, merge(messages)


def selfdialogue(mirror: Mirror) -> Iterator[Dialogue]:
    """Yield dialogues in which one person wrote both sides."""
    repo = "jfainberg/self_dialogue_corpus"
    blocked = {name for _, content in mirror.files(repo, r"blocked_workers\.txt") for name in content.decode().split()}
    for _, content in mirror.files(repo, r"corpus/.*\.csv"):
        for row in csv.DictReader(io.StringIO(content.decode(errors="replace"))):
            if row["WorkerId"] in blocked:
                continue
            cells = sorted(
                (int(key[15:]), text) for key, text in row.items() if key and re.fullmatch(r"Answer\.sentence\d+", key) and text
            )
            user = pick(row["AssignmentId"])
            yield row["AssignmentId"], merge((number % 2 == user, text) for number, text in cells)


def nluhome(mirror: Mirror) -> Iterator[Dialogue]:
    """Yield single requests to a home assistant."""
    pattern = r"CrossValidation/out4RasaReal/.*/KFold_1/merged/RasaNlu_Merged_KFold_1_.*\.json"
    for _, content in mirror.files("xliuhw/NLU-Evaluation-Data", pattern):
        for number, row in enumerate(json.loads(content)["rasa_nlu_data"]["common_examples"]):
            yield f"fold1-{number}", merge([(True, row["text"])])


def selfinstruct(mirror: Mirror) -> Iterator[Dialogue]:
    """Yield instructions, each with the text to work on."""
    for _, content in mirror.files("yizhongw/self-instruct", r"human_eval/user_oriented_instructions\.jsonl"):
        for line in content.decode().splitlines():
            row = json.loads(line)
            yield row["id"], merge([(True, f"{row['instruction']}\n{row['instances'][0]['input']}")])


def taskmaster(mirror: Mirror) -> Iterator[Dialogue]:
    """Yield dialogues about coffee orders, then about cinema tickets.

    The rows about tickets contain ever longer beginnings of a dialogue. The longest one is used as the dialogue.
    """
    repo = "google-research-datasets/Taskmaster"
    for _, content in mirror.files(repo, r"TM-4-2024/data/data_0[07]\.json"):
        for row in json.loads(content):
            yield row["conversation_id"], merge((turn["speaker"] == "user", turn["text"]) for turn in row["utterances"])
    longest: dict[str, str] = {}
    for _, content in sorted(mirror.files(repo, r"TM-3-2020/splits/.*\.tsv")):
        for line in content.decode().splitlines():
            cells = line.split("\t")
            if len(cells) == 3 and len(cells[0]) > len(longest.get(cells[2], "")):
                longest[cells[2]] = cells[0]
    for name, text in longest.items():
        yield name, merge((part[1] == "U", part[2].replace('""', '"')) for part in re.finditer(r"<([UA])>([^<]+)", text))


def clinc(mirror: Mirror) -> Iterator[Dialogue]:
    """Yield single requests to an assistant."""
    for _, content in mirror.files("clinc/oos-eval", r"data/data_full\.json"):
        for part, rows in json.loads(content).items():
            if part in ("val", "oos_val", "oos_train"):
                for number, (text, _) in enumerate(rows):
                    yield f"{part}-{number}", merge([(True, text)])


def persona(mirror: Mirror) -> Iterator[Dialogue]:
    """Yield generated chats between two personas."""
    for path, content in mirror.files("google-research-datasets/Synthetic-Persona-Chat", r"data/.*_(valid|test)\.csv"):
        part = "valid" if "valid" in path else "test"
        for number, row in enumerate(csv.DictReader(io.StringIO(content.decode()))):
            name = f"{part}-{number}"
            user = ("1", "2")[pick(name)]
            lines = re.finditer(
                r"^\[?user ?([12])\]? ?: ?(.*)$", row["Best Generated Conversation"], re.MULTILINE | re.IGNORECASE
            )
            yield name, merge((line[1] == user, line[2]) for line in lines)


def arena(mirror: Mirror) -> Iterator[Dialogue]:
    """Yield prompts that people sent to chat models."""
    for _, content in mirror.files("lm-sys/arena-hard-auto", r"data/arena-hard-v0\.1/question\.jsonl"):
        for line in content.decode().splitlines():
            row = json.loads(line)
            text = row["turns"][0]["content"] if "turns" in row else row["prompt"]
            yield str(row.get("question_id") or row["uid"]), merge([(True, text)])


def oasst(mirror: Mirror) -> Iterator[Dialogue]:
    """Yield first prompts of people to OpenAssistant, named by the hash of the prompt."""
    repo = "Open-Assistant/oasst-model-eval"
    prompts: dict[str, None] = {}
    for _, content in mirror.files(repo, r"sampling_reports/oasst-sft/1k-prompts/result.*\.json"):
        prompts.update(dict.fromkeys(row["prompt"] for row in json.loads(content)["prompts"]))
    for _, content in mirror.files(repo, r"model_eval/manual/data/(prompt_lottery_en_250|en_100)_text\.jsonl"):
        prompts.update(dict.fromkeys(json.loads(line) for line in content.decode().splitlines()))
    for text in prompts:
        yield hashlib.sha256(text.encode()).hexdigest()[:10], merge([(True, text)])


def chatterbot(mirror: Mirror) -> Iterator[Dialogue]:
    """Yield Spanish scripts of a chatbot."""
    import yaml

    pattern = r"chatterbot_corpus/data/spanish/(conversations|greetings|psicologia|dinero)\.yml"
    for path, content in mirror.files("gunthercox/chatterbot-corpus", pattern):
        part = path.rsplit("/", 1)[1].removesuffix(".yml")
        for number, rows in enumerate(yaml.safe_load(content)["conversations"]):
            name = f"{part}-{number}"
            user = pick(name)
            yield name, merge((place % 2 == user, str(row)) for place, row in enumerate(rows))


def tatoeba(mirror: Mirror) -> Iterator[Dialogue]:
    """Yield Spanish sentences."""
    for _, content in mirror.files("Hoangduc212001/hoang", r"spa-eng\.zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            rows = archive.read("spa-eng/spa.txt").decode().splitlines()
        for text in dict.fromkeys(row.split("\t")[1] for row in rows):
            if 4 <= len(text.split()) <= 25:
                yield hashlib.sha256(text.encode()).hexdigest()[:10], merge([(True, text)])


def chitchat(mirror: Mirror) -> Iterator[Dialogue]:
    """Yield chats of two strangers, mostly students, about a question that they were given."""
    content = mirror.packaged("chitchat_dataset-0.9.0-py3-none-any.whl", "chitchat_dataset/dataset.json")
    for name, row in json.loads(content).items():
        messages = [message for group in row["messages"] for message in group]
        senders = sorted({message["sender"] for message in messages})
        if len(senders) == 2:
            user = senders[pick(name)]
            yield name, merge((message["sender"] == user, message["text"]) for message in messages)


def memorybank(mirror: Mirror) -> Iterator[Dialogue]:
    """Yield generated talks of fifteen people with an AI companion, one per person and day."""
    for _, content in mirror.files("zhongwanjun/MemoryBank-SiliconFriend", r"eval_data/en/memory_bank_en\.json"):
        for person, row in json.loads(content).items():
            for day, turns in row["history"].items():
                said = [(is_user, turn[side]) for turn in turns for is_user, side in ((True, "query"), (False, "response"))]
                yield f"{person}-{day}", merge(said)


READERS: dict[str, Callable[[Mirror], Iterator[Dialogue]]] = {
    reader.__name__: reader
    for reader in (
        photochat,
        persona,
        selfdialogue,
        clinc,
        nluhome,
        taskmaster,
        selfinstruct,
        tatoeba,
        chatterbot,
        oasst,
        chitchat,
        memorybank,
        meena,
        persuasion,
        arena,
    )
}
"""The reader of each source."""
