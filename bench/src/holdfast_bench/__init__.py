"""Benchmarks of Holdfast: how well it recalls and learns, and how fast it is. ``command.py`` has the commands."""
