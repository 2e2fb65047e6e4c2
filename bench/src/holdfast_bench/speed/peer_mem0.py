"""mem0 with a local store and our vectors: no server, no language model, nothing sent, nothing written elsewhere.

Its own way to add is ``add(infer=False)``, one memory at a time, and that is what a single add measures. A bulk
import goes to its vector store in batches, in the form in which ``add`` stores a memory.
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
from holdfast_bench.speed.sides import FOUND, Asked, Row

_BATCH = 1000


class Mem0:
    """A Memory on Qdrant's local store, which is mem0's own default."""

    name = "mem0"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        # mem0 reads these as it is imported, and would make a folder at home and tell its makers of each search.
        set_for_libraries({"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0")})
        mem0: Any = import_module("mem0")
        base: Any = import_module("mem0.embeddings.base").EmbeddingBase
        # That it would also search by words and by names with more packages is said once, in docs/project/benchmarks.md.
        logging.getLogger("mem0").setLevel(logging.ERROR)

        class Given(base):  # type: ignore[misc]
            """The embedder that every side uses."""

            def embed(self, text: str, memory_action: str | None = None) -> list[float]:
                role: Any = "query" if memory_action == "search" else "document"
                vector: list[float] = embedder.embed([text], role=role)[0].tolist()
                return vector

        globals()["Given"] = Given  # its factory loads an embedder by the name of its class
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
        """Add one by its own method, many in batches."""
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

    def find(self, asked: Asked) -> Sequence[str]:
        """Search by its own method; a threshold of none, so that it gives as many as the others."""
        filters = {"user_id": asked.user}
        filters |= {"part": asked.part} if asked.part else {}
        filters |= {"kind": asked.kind} if asked.kind else {}
        found = self._memory.search(asked.text, filters=filters, top_k=FOUND, threshold=0.0)
        return [one["memory"] for one in found["results"]]

    def close(self) -> None:
        """Close its files."""
        self._memory.vector_store.client.close()
        self._memory.close()


def _payload(row: Row) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    return {
        "user_id": row.user, "part": row.part, "kind": row.kind, "role": "user", "data": row.text,
        "hash": md5(row.text.encode(), usedforsecurity=False).hexdigest(), "created_at": now, "updated_at": now,
        "text_lemmatized": row.text,
    }  # fmt: skip
