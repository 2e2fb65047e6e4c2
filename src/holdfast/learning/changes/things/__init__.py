"""Recognize the persons and things that claims are about."""
