"""Tests of ``holdfast/stores/sqlite``."""
