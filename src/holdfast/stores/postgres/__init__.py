"""PostgreSQL with pgvector as the store: ``PostgresStore``. Needs the extra ``postgres``."""

from holdfast.stores.postgres.store import Limits, PostgresStore

__all__ = ["Limits", "PostgresStore"]
