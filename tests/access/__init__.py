"""Tests of ``holdfast/access``."""
