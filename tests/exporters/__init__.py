"""Tests of ``holdfast/exporters``."""
