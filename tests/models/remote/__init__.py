"""Tests of ``holdfast/models/remote``."""
