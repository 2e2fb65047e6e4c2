"""Obey the user's wishes about memory. ``wishes.py`` reads the wishes in messages and obeys them.

``off_record.py`` withholds messages. ``forget.py`` finds the memories and messages to forget.
"""
