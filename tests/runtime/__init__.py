"""Tests of ``holdfast/runtime``."""
