"""Benchmark of the designs (the five assistants whose memory Holdfast reproduces).

Each design has conversations for a simulated month, with outages, restarts and kills. In these stories, facts change,
and people ask not to keep something.
"""
