"""Tests of ``holdfast/learning/summaries``."""
