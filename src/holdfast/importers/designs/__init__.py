"""Readers for the stores of the five designs, with one module per design."""
