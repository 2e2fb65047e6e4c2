"""Tests of the adapters for LangChain's retriever and chat message history."""
