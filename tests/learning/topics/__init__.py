"""Tests of ``holdfast/learning/topics``."""
