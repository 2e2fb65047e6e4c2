"""A LlamaIndex chat memory with long-term memory in a file on this machine. Run: pip install 'holdfast-memory[llama-index]'."""

import asyncio
import tempfile
from pathlib import Path

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory

import holdfast
from holdfast.adapters.llama_index import HoldfastMemoryBlock


async def talk(memory: holdfast.Engine) -> None:
    """Hold a conversation that is longer than the short-term memory, and show the prompt of its last turn."""
    block = HoldfastMemoryBlock(memory=memory, user="ana", priority=1)
    chat = Memory.from_defaults(
        session_id="chat", memory_blocks=[block], token_limit=100, token_flush_size=30, tokenizer_fn=str.split
    )
    for text in ("I'm allergic to walnuts.", "I sail on weekends.", "My cat is called Miso."):
        await chat.aput(ChatMessage(role="user", content=text))
        await chat.aput(ChatMessage(role="assistant", content="Thank you, I will keep that in mind for the next time. " * 3))
    memory.drain()  # extract memories now; without worker="none", this happens in the background
    await chat.aput(ChatMessage(role="user", content="Which cake must I not eat, with my allergy?"))
    prompt = await chat.aget()
    print(prompt[0].content)


def main() -> None:
    """Run the example with a memory in a temporary file."""
    with tempfile.TemporaryDirectory() as folder, holdfast.open(Path(folder) / "memory.db", worker="none") as memory:
        asyncio.run(talk(memory))


if __name__ == "__main__":
    main()
