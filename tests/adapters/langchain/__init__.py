"""LangChain's retriever and chat message history."""
