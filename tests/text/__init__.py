"""Tests of ``holdfast/text``."""
