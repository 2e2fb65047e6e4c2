"""Obeying the user's wishes about memory. ``wishes.py`` obeys a message; ``off_record.py`` withholds; ``forget.py`` finds what to forget."""
