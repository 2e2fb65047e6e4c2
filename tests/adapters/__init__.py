"""Tests of the adapters. Each folder holds one framework: its locked environment, its own test suite, and our tests."""
