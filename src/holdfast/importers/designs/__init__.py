"""Readers of the stores that the source designs describe: one module per design."""
