"""LangChain's standard tests for retrievers, run with Holdfast's retriever in LangChain's environment."""

import tempfile
from pathlib import Path
from typing import Any

import holdfast_suite
import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests

import holdfast
from holdfast.adapters.langchain import HoldfastRetriever


class TestHoldfastRetriever(RetrieversIntegrationTests):
    """LangChain's tests for retrievers. The retriever searches a memory with five facts."""

    @pytest.fixture(autouse=True)
    def facts(self) -> Any:
        """Open a memory with facts."""
        holdfast_suite.note_use()
        with tempfile.TemporaryDirectory() as folder, holdfast.open(Path(folder) / "memory.db", worker="none") as memory:
            for drink in ("green tea", "black coffee", "cold milk", "apple juice", "sparkling water"):
                memory.remember(f"Ana likes to drink {drink} in the morning.", user="ana")
            self.memory = memory
            yield

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        """The class under test."""
        return HoldfastRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        """Constructor arguments of the class under test."""
        return {"memory": self.memory, "user": "ana"}

    @property
    def retriever_query_example(self) -> str:
        """A query that finds all facts."""
        return "What does Ana like to drink in the morning?"
