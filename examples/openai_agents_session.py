"""An agent of OpenAI's Agents SDK that remembers across conversations. Run: pip install 'holdfast-memory[openai-agents]'.

With the variable OPENAI_API_KEY, a model of OpenAI replies. Without it, the replies are scripted.
"""

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Any

from agents import Agent, Runner
from agents.items import TResponseOutputItem
from agents.testing import ScriptedModel
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

import holdfast
from holdfast.adapters.openai_agents import HoldfastSession


def scripted(*texts: str) -> ScriptedModel:
    """Return a model that replies with these texts."""
    model = ScriptedModel()
    for number, text in enumerate(texts):
        part = ResponseOutputText(text=text, type="output_text", annotations=[], logprobs=[])
        reply: TResponseOutputItem = ResponseOutputMessage(
            id=f"msg_{number}", type="message", role="assistant", status="completed", content=[part]
        )
        model.enqueue([reply])
    return model


async def talk(memory: holdfast.Engine, id: str, message: str, model: Any) -> None:
    """Send one message in a conversation, and end the conversation."""
    session = HoldfastSession(id, memory, user="ana")
    known = await session.context(message)
    agent = Agent(name="Assistant", instructions=f"Be brief.\n{known}", model=model)
    result = await Runner.run(agent, message, session=session)
    print(f"{id}: {message} -> {result.final_output}")
    print(f"{id}: the instructions contain Lyon: {'Lyon' in known}")
    await session.end()


def main() -> None:
    """Tell the agent something in one conversation, and ask about it in the next."""
    online = os.environ.get("OPENAI_API_KEY")
    model = None if online else scripted("Nice to meet you, Ana!", "You live in Lyon.")
    with tempfile.TemporaryDirectory() as folder, holdfast.open(Path(folder) / "memory.db") as memory:
        asyncio.run(talk(memory, "monday", "I'm Ana and I live in Lyon.", model))
        memory.drain()  # learn now instead of in the background
        asyncio.run(talk(memory, "tuesday", "Where do I live?", model))


if __name__ == "__main__":
    main()
