"""Text processing: cleaning, language detection, search terms, dates and names. Start with ``clean.py``."""
