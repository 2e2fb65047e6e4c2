"""Where memories are stored. ``sqlite`` is the default, ``postgres`` the shared one; both build on ``sql``."""
