"""Operations on what an id names: a memory, a change, a session, or a message. ``erasing.py`` also erases whole scopes.

``reader`` is the scope of the caller. If ``reader`` is given, an id that this scope may not see raises the same ``NotFound`` as a
missing id.
"""
