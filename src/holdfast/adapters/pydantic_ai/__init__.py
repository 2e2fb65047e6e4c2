"""Memory for Pydantic AI. Requires the extra ``holdfast-memory[pydantic-ai]``.

:class:`HoldfastMemory` is a capability: it learns from conversations and adds relevant memories to the instructions.
:class:`HoldfastFiles` is a store for the ``Memory`` capability of Pydantic AI's harness: files that a model writes itself.
"""

from holdfast.adapters.shared import extra_missing

try:
    from holdfast.adapters.pydantic_ai.capability import HoldfastMemory
    from holdfast.adapters.pydantic_ai.files import HoldfastFiles
except ImportError as error:
    raise extra_missing("Pydantic AI", "pydantic-ai", error) from error

__all__ = ["HoldfastFiles", "HoldfastMemory"]
