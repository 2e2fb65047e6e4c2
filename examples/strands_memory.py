"""A Strands agent that remembers in a file on this machine. Run: pip install 'holdfast-memory[strands]'.

The model is scripted, so that the program runs without a provider. Use any model of Strands instead.
"""

import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from strands import Agent
from strands.memory import MemoryManager
from strands.models import Model

import holdfast
from holdfast.adapters.strands import HoldfastMemoryStore


class EchoModel(Model):
    """A model that repeats the memories it is given."""

    def update_config(self, **_config: Any) -> None:
        """Accept every setting."""

    def get_config(self) -> dict[str, Any]:
        """Return no settings."""
        return {}

    async def structured_output(self, *_args: Any, **_kwargs: Any) -> AsyncGenerator[dict[str, Any], None]:
        """Return nothing."""
        return
        yield {}

    async def stream(self, messages: list[Any], *_args: Any, **_kwargs: Any) -> AsyncGenerator[dict[str, Any], None]:
        """Reply with the memories in the last message, or say that there are none."""
        texts = [block["text"] for block in messages[-1]["content"] if "text" in block]
        memories = [line.strip() for text in texts if "<memory>" in text for line in text.splitlines() if "<entry" in line]
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": " ".join(memories) or "I know nothing about that."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def run(path: Path, question: str) -> str:
    """Ask a new agent a question, and return its reply."""
    with holdfast.open(path, worker="none") as memory:
        store = HoldfastMemoryStore(memory, user="ana", extraction=True)
        manager = MemoryManager(stores=[store])
        agent = Agent(model=EchoModel(), plugins=[manager], callback_handler=None)
        reply = str(agent(question)).strip()
        memory.drain()  # extract memories now; without worker="none", this happens in the background
    return reply


def main() -> None:
    """Tell one agent something, and ask another agent about it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with holdfast.open(path) as memory:
            memory.remember("Ana is allergic to walnuts", user="ana")
        print("reply:", run(path, "What is Ana allergic to?"))
        print("reply:", run(path, "How far is the moon?"))


if __name__ == "__main__":
    main()
