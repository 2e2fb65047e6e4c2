"""An engine on a store that the test has made itself."""

from typing import Any

from holdfast.config.assembly import build_services
from holdfast.engine import Engine
from holdfast.protocols import Store


def build_engine(store: Store, **components: Any) -> Engine:
    """Return an engine on an open store; takes what ``build_services`` takes."""
    return Engine(build_services(store, **components))
