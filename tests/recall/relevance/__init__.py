"""Tests of ``holdfast/recall``."""
