"""Tests of ``holdfast/text/json``."""
