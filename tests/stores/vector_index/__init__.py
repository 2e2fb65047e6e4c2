"""Tests of ``holdfast/stores/vector_index``."""
