"""Clients with the methods of mem0, on a Holdfast memory. They need no extra package.

Replace ``from mem0 import Memory`` with ``from holdfast.adapters.mem0 import Memory``. Arguments and results have the
format of mem0 2.x. The arguments of 1.x (``user_id=`` and ``limit=`` in ``search`` and ``get_all``) also work.
"""

from holdfast.adapters.mem0.aio import AsyncMemory
from holdfast.adapters.mem0.client import Memory, MemoryNotFound

__all__ = ["AsyncMemory", "Memory", "MemoryNotFound"]
