"""A LangChain chain that recalls what the user said in earlier conversations. Run: pip install 'holdfast-memory[langchain]'."""

import tempfile
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

import holdfast
from holdfast.adapters.langchain import HoldfastChatMessageHistory, HoldfastRetriever

PROMPT = ChatPromptTemplate.from_messages([("system", "You know about the user:\n{known}"), ("human", "{question}")])


def as_text(documents: list[Document]) -> str:
    """Return one line per document."""
    return "\n".join(f"- {document.page_content}" for document in documents)


def main() -> None:
    """Store a conversation, learn from it, and build the prompt of the next one. Add a chat model to the chain for replies."""
    with tempfile.TemporaryDirectory() as folder, holdfast.open(Path(folder) / "memory.db") as memory:
        history = HoldfastChatMessageHistory("monday", memory, user="ana")
        history.add_messages([HumanMessage("I'm allergic to walnuts."), AIMessage("Thanks, I will remember that.")])
        history.end()
        memory.drain()  # learn now instead of in the background

        retriever = HoldfastRetriever(memory=memory, user="ana", k=3)
        chain = {"known": retriever | as_text, "question": RunnablePassthrough()} | PROMPT  # | chat_model
        for message in chain.invoke("Which cake can I eat, with my allergy?").to_messages():
            print(f"{message.type}: {message.content}")


if __name__ == "__main__":
    main()
