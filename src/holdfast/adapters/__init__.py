"""Adapters that put Holdfast behind the memory interfaces of other frameworks. Each module needs its framework's extra.

An adapter imports only the public API. Start with ``shared.py``, then the module of your framework. See
docs/adapters.md.
"""

from holdfast.adapters.shared import ITEM

__all__ = ["ITEM"]
