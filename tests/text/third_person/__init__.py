"""Tests of ``holdfast/text/third_person``."""
