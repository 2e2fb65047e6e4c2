"""Text processing: cleaning, language identification, search terms. No storage and no model calls."""
