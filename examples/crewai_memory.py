"""CrewAI's memory in a Holdfast file. Run: pip install 'holdfast-memory[crewai]'.

The embedder counts words, so that the program runs without a provider. CrewAI's own embedders work as well.
"""

import os
import tempfile
import zlib
from pathlib import Path

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")

from crewai.memory.unified_memory import Memory

from holdfast.adapters.crewai import HoldfastStorage


def embed(texts: list[str]) -> list[list[float]]:
    """Return one vector per text. Texts with words in common have similar vectors."""
    vectors = []
    for text in texts:
        vector = [0.01] * 64
        for word in text.lower().replace(".", "").replace("?", "").split():
            vector[zlib.crc32(word.encode()) % 64] += 1.0
        vectors.append(vector)
    return vectors


def main() -> None:
    """Store facts and recall one of them. Then open the file again, as after a restart, and recall it once more."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crew.db"
        for turn in ("first", "second"):
            memory = Memory(storage=HoldfastStorage(path), embedder=embed)
            if turn == "first":
                facts = {"Ana is allergic to walnuts.": "/ana", "The harbor opens at nine.": "/harbor"}
                for text, scope in facts.items():
                    memory.remember(text, scope=scope, categories=["fact"], importance=0.8)
            found = memory.recall("is Ana allergic to walnuts?", scope="/ana", depth="shallow")
            print(f"{turn} process:", [match.record.content for match in found])
            memory.close()


if __name__ == "__main__":
    main()
