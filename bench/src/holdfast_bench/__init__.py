"""Benchmarks of Holdfast: recall, learning, speed and load."""
