"""The stores. ``sqlite`` is the default. ``postgres`` can be shared by several machines. Both build on ``sql``."""
