"""Text as data: cleaning, languages, search terms. Nothing here stores or asks anything."""
