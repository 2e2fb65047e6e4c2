"""Tests of the check of a model's items."""
