"""The stores. ``sqlite`` is the default, ``postgres`` is for several machines; both build on ``sql``."""
