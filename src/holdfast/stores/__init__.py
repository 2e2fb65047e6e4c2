"""The stores. ``sqlite`` is the default; ``postgres`` serves several machines. Both build on ``sql``."""
