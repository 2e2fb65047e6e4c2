"""Text as data: cleaning, languages, search terms, dates, names. Start with ``clean.py``."""
