"""Runs mem0 with a local store and the benchmark's vectors, without a server, a language model or telemetry.

A single add uses mem0's ``add(infer=False)``, which takes one memory at a time. A bulk import writes batches to mem0's
vector store, in the same form as ``add`` stores a memory.
"""

import logging
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import md5
from importlib import import_module
from pathlib import Path
from typing import Any

from holdfast.config.environment import set_for_libraries
from holdfast.protocols import Embedder
from holdfast_bench.speed.sides import RESULTS, Query, Row

_BATCH = 1000


class Mem0:
    """A mem0 ``Memory`` on Qdrant's local store, which is mem0's default."""

    name = "mem0"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        # mem0 reads these when imported. Otherwise it creates a folder in the home directory and reports each search.
        set_for_libraries({"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0")})
        mem0: Any = import_module("mem0")
        base: Any = import_module("mem0.embeddings.base").EmbeddingBase
        # Its warnings say that more packages would add search by words and names; see docs/project/benchmarks.md.
        logging.getLogger("mem0").setLevel(logging.ERROR)

        class Given(base):  # type: ignore[misc]
            """Lets mem0 use the benchmark's embedder, which all libraries use."""

            def embed(self, text: str, memory_action: str | None = None) -> list[float]:
                role: Any = "query" if memory_action == "search" else "document"
                vector: list[float] = embedder.embed([text], role=role)[0].tolist()
                return vector

        globals()["Given"] = Given  # mem0's factory loads an embedder by its class name
        import_module("mem0.utils.factory").EmbedderFactory.provider_to_class["openai"] = f"{__name__}.Given"
        size = embedder.dimensions
        store = {"collection_name": "bench", "path": str(folder / "qdrant"), "embedding_model_dims": size, "on_disk": True}
        self._memory = mem0.Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": {"provider": "openai", "config": {"embedding_dims": size}},
                "llm": {"provider": "openai", "config": {"api_key": "none", "model": "none"}},
                "history_db_path": str(folder / "history.db"),
            }
        )

    def put(self, rows: Sequence[Row]) -> None:
        """Add a single memory with mem0's ``add``, or several in batches."""
        if len(rows) == 1:
            row = rows[0]
            more = {"part": row.part, "kind": row.kind}
            self._memory.add(row.text, user_id=row.user, metadata=more, infer=False)
            return
        for start in range(0, len(rows), _BATCH):
            part = rows[start : start + _BATCH]
            self._memory.vector_store.insert(
                vectors=[row.vector.tolist() for row in part],
                payloads=[_payload(row) for row in part],
                ids=[str(uuid.uuid4()) for _ in part],
            )

    def find(self, query: Query) -> Sequence[str]:
        """Search with mem0's own method.

        No threshold is set, so that the number of results is the same as for the other libraries.
        """
        filters = {"user_id": query.user}
        filters |= {"part": query.part} if query.part else {}
        filters |= {"kind": query.kind} if query.kind else {}
        found = self._memory.search(query.text, filters=filters, top_k=RESULTS, threshold=0.0)
        return [one["memory"] for one in found["results"]]

    def close(self) -> None:
        """Close mem0's files."""
        self._memory.vector_store.client.close()
        self._memory.close()


def _payload(row: Row) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    return {
        "user_id": row.user,
        "part": row.part,
        "kind": row.kind,
        "role": "user",
        "data": row.text,
        "hash": md5(row.text.encode(), usedforsecurity=False).hexdigest(),
        "created_at": now,
        "updated_at": now,
        "text_lemmatized": row.text,
    }
