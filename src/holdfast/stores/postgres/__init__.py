"""A store on PostgreSQL with pgvector: ``PostgresStore``. Needs the extra ``postgres``."""

from holdfast.stores.postgres.store import PoolLimits, PostgresStore

__all__ = ["PoolLimits", "PostgresStore"]
