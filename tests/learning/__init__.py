"""Tests of ``holdfast/learning``."""
