"""A LangGraph graph whose nodes remember across threads, in a file on this machine. Run: pip install 'holdfast-memory[langgraph]' langgraph."""

import tempfile
from pathlib import Path
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

import holdfast
from holdfast.adapters import ITEM
from holdfast.adapters.langgraph import HoldfastStore


class State(TypedDict):
    """One turn of a conversation."""

    user: str
    message: str
    reply: str


def remember(state: State, *, store: BaseStore) -> dict[str, str]:
    """Store what the user says."""
    store.put(("notes", state["user"]), state["message"], {"text": state["message"]})
    return {}


def answer(state: State, *, store: BaseStore) -> dict[str, str]:
    """Reply with the user's note that matches the question best."""
    best = store.search(("notes", state["user"]), query="what does she like to drink?", limit=1)
    return {"reply": best[0].value["text"]}


def main() -> None:
    """Run the graph, then open the file again, as after a restart, and find the graph's notes."""
    builder = StateGraph(State)
    builder.add_node("remember", remember)
    builder.add_node("answer", answer)
    builder.add_edge(START, "remember")
    builder.add_edge("remember", "answer")
    builder.add_edge("answer", END)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with holdfast.open(path, kinds=[ITEM]) as memory:
            graph = builder.compile(store=HoldfastStore(memory))
            for message in ("Green tea is my favorite drink.", "My train leaves at nine.", "The cat is called Miso."):
                state = graph.invoke({"user": "ana", "message": message, "reply": ""})
            print("reply:", state["reply"])
        with holdfast.open(path) as memory:
            later = HoldfastStore(memory)
            print("notes after a restart:", len(later.search(("notes", "ana"))))


if __name__ == "__main__":
    main()
