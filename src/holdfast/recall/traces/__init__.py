"""Traces of context blocks: what a recall notes while it runs, and how that becomes a stored trace."""
