"""Obey the user's wishes about memory. ``wishes.py`` reads and obeys a message, ``off_record.py`` withholds messages.

``forget.py`` finds the memories and messages to forget.
"""
