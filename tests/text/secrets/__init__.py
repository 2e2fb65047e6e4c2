"""Tests of ``holdfast/text/secrets``."""
