"""Tests of ``holdfast/importers``."""
