"""Operations on one memory, change, session or message, found by its id. ``erasing.py`` also erases whole scopes.

The argument ``reader`` is the scope of the caller. If the caller may not see the data with an id, the error is the same
``NotFound`` as for a missing id.
"""
