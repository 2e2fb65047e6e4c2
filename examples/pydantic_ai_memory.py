"""A Pydantic AI agent that remembers earlier conversations, in a file on this machine. Run: pip install 'holdfast-memory[pydantic-ai]'.

The model is scripted, so that the program runs without a provider. Use any model of Pydantic AI instead.
"""

import tempfile
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import holdfast
from holdfast.adapters.pydantic_ai import HoldfastMemory


def echo(_messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Reply with the memories in the instructions, or say that there are none."""
    known = [line for line in (info.instructions or "").splitlines() if line.startswith("- ")]
    return ModelResponse(parts=[TextPart("I know: " + " ".join(known) if known else "I know nothing about that.")])


def main() -> None:
    """Tell the agent something in one conversation, and ask about it in another."""
    with tempfile.TemporaryDirectory() as folder, holdfast.open(Path(folder) / "memory.db", worker="none") as memory:
        agent = Agent(FunctionModel(echo), capabilities=[HoldfastMemory(memory, user="ana")])
        print(agent.run_sync("I'm allergic to walnuts, and I live in Lyon.").output)
        memory.drain()  # extract memories now; without worker="none", this happens in the background
        print(agent.run_sync("What am I allergic to?").output)


if __name__ == "__main__":
    main()
