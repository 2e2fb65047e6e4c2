"""A program written for mem0, with one import changed. It needs no server and no API key. Run: pip install holdfast-memory."""

import tempfile
from pathlib import Path

import holdfast
from holdfast.adapters.mem0 import Memory


def main() -> None:
    """Add a conversation, search it, and show the history of a memory."""
    with tempfile.TemporaryDirectory() as folder, holdfast.open(Path(folder) / "memory.db") as store:
        memory = Memory(store)
        talk = [
            {"role": "user", "content": "I'm allergic to walnuts, and I live in Lyon."},
            {"role": "assistant", "content": "Noted: no walnuts."},
        ]
        for item in memory.add(talk, user_id="ana", metadata={"channel": "web"})["results"]:
            print(item["event"], item["memory"])

        found = memory.search("Which cake can she eat?", filters={"user_id": "ana", "channel": {"in": ["web", "app"]}}, top_k=1)
        best = found["results"][0]
        print("best:", best["memory"])

        memory.update(best["id"], text="Ana is allergic to walnuts and pecans")
        print("history:", [row["event"] for row in memory.history(best["id"])])


if __name__ == "__main__":
    main()
