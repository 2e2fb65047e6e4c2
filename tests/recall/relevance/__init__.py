"""Tests of ``holdfast/recall/relevance``."""
