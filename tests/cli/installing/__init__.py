"""Tests of ``holdfast install``."""
