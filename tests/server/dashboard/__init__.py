"""Tests of ``holdfast/server/dashboard``."""
