"""Tests of ``holdfast/server/routes``."""
