"""Whether a name is that of a person or of a place."""
