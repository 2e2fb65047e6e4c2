"""Traces of context blocks: the notes that a recall takes while it runs, and the stored trace derived from them."""
