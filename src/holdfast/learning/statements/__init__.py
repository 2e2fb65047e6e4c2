"""Extract statements from messages by rules, in English and Spanish. Start with ``statements.py``."""
