"""Claude's memory tool on a Holdfast memory. Run: pip install 'holdfast-memory[anthropic]'.

If the variable ANTHROPIC_API_KEY is set, Claude decides what to write. Otherwise the program runs commands that are
written in this file.
"""

import os
import tempfile
from pathlib import Path

import anthropic

import holdfast
from holdfast.adapters import ITEM
from holdfast.adapters.anthropic import HoldfastMemoryTool

COMMANDS = (
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/ana.md", "file_text": "# Ana\n- prefers coffee\n"},
    {"command": "str_replace", "path": "/memories/ana.md", "old_str": "coffee", "new_str": "green tea"},
    {"command": "view", "path": "/memories/ana.md"},
)


def main() -> None:
    """Let Claude write files with the tool, then list the files that are stored in the memory."""
    with tempfile.TemporaryDirectory() as folder, holdfast.open(Path(folder) / "memory.db", kinds=[ITEM]) as memory:
        tool = HoldfastMemoryTool(memory, user="ana")
        if os.environ.get("ANTHROPIC_API_KEY"):
            reply = anthropic.Anthropic().beta.messages.tool_runner(
                model="claude-sonnet-5-5",
                max_tokens=1000,
                messages=[{"role": "user", "content": "Remember that I prefer green tea."}],
                tools=[tool],
            )
            print(reply.until_done().content)
        else:
            for command in COMMANDS:
                print(">", command["command"], command["path"])
                print(tool.call(command))
        for file in memory.memories(user="ana", kind="item"):
            print("stored:", file.key)


if __name__ == "__main__":
    main()
