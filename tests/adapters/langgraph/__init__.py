"""Tests of the adapter for LangGraph's store."""
