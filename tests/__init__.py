"""Tests. The folders mirror those of ``src/holdfast``."""
