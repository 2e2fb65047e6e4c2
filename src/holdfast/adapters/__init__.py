"""Adapters with which other frameworks use Holdfast as their memory. Most need the extra of the framework.

An adapter imports only the public API. Start with ``shared.py``, then the module of your framework. See
docs/adapters.md.
"""

from holdfast.adapters.shared import ITEM

__all__ = ["ITEM"]
