"""Tests of ``holdfast/models/local``."""
