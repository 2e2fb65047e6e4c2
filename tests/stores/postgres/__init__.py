"""Tests of ``holdfast/stores/postgres``."""
