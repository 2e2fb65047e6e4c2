"""Build an engine on a store that the test has opened."""

from typing import Any

from holdfast.config.assembly import build_services
from holdfast.engine import Engine
from holdfast.protocols import Store


def build_engine(store: Store, **components: Any) -> Engine:
    """Return an engine that uses an open store. ``components`` are keyword arguments for ``build_services``."""
    return Engine(build_services(store, **components))
