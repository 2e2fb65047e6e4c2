"""Tests of the adapters. Each folder contains one framework: its locked environment, its own test suite, and Holdfast's tests."""
