"""Tests of ``holdfast/learning/changes``."""
