"""Tests of ``holdfast/stores/copying``."""
