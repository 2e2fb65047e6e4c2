"""Tests of ``holdfast/learning/statements``."""
