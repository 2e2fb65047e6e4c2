"""Tests of ``holdfast/stores/chroma``."""
