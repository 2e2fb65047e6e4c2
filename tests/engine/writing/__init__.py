"""Tests of how messages and memories are written."""
