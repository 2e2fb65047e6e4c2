"""Tests of ``holdfast/agent``."""
