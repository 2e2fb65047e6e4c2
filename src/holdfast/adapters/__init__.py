"""Adapters that put Holdfast behind the memory interfaces of other frameworks. Each module needs the extra of its framework.

An adapter imports the public API alone. Start with ``shared.py``, then the module of your framework. See docs/adapters.md.
"""

from holdfast.adapters.shared import ITEM

__all__ = ["ITEM"]
