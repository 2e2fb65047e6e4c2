"""Tests of ``holdfast/background``."""
