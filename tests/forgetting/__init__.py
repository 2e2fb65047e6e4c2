"""Tests of ``holdfast/forgetting``."""
