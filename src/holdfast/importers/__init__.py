"""Bringing in what other programs remember."""
