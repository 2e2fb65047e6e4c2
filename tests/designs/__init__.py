"""Tests of ``holdfast/designs``."""
