"""Tests of the resident process."""
