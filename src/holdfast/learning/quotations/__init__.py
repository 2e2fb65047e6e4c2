"""Find quotations in a user's message by their form: e-mails, letters, chats, logs, code, data and announced texts.

Start with ``find.py``.
"""
