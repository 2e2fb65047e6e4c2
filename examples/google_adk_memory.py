"""An ADK agent that remembers earlier sessions, in a file on this machine. Run: pip install 'holdfast-memory[google-adk]'.

The model is scripted, so that the program runs without a provider. Use any model of ADK instead.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

import holdfast
from holdfast.adapters.google_adk import HoldfastMemoryService


class EchoModel(BaseLlm):
    """A model that repeats the memories it is given."""

    async def generate_content_async(self, llm_request: Any, stream: Any = None) -> AsyncGenerator[LlmResponse, None]:  # noqa: ARG002
        """Reply with the memories of past conversations, or say that there are none."""
        texts = [part.text for content in llm_request.contents for part in content.parts or () if part.text]
        past = [line for text in texts if "<PAST_CONVERSATIONS>" in text for line in text.splitlines() if "walnut" in line]
        reply = f"You said: {past[0]}" if past else "Noted."
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=reply)]))


async def talk(memory: holdfast.Engine) -> None:
    """Tell the agent something in one session, and ask about it in another."""
    sessions, service = InMemorySessionService(), HoldfastMemoryService(memory)
    agent = LlmAgent(name="waiter", model=EchoModel(model="echo"), tools=[PreloadMemoryTool()])
    runner = Runner(agent=agent, app_name="cafe", session_service=sessions, memory_service=service)
    for number, text in enumerate(("I'm allergic to walnuts.", "Can I have the walnut cake?")):
        session_id = f"session-{number}"
        await sessions.create_session(app_name="cafe", user_id="ana", session_id=session_id)
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for event in runner.run_async(user_id="ana", session_id=session_id, new_message=message):
            if event.content and event.content.parts:
                print(f"{session_id}:", event.content.parts[0].text)
        session = await sessions.get_session(app_name="cafe", user_id="ana", session_id=session_id)
        await service.add_session_to_memory(session)
        memory.drain()  # extract memories now; without worker="none", this happens in the background


def main() -> None:
    """Run the example with a memory in a temporary file."""
    with tempfile.TemporaryDirectory() as folder, holdfast.open(Path(folder) / "memory.db", worker="none") as memory:
        asyncio.run(talk(memory))


if __name__ == "__main__":
    main()
