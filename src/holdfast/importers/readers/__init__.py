"""Readers of foreign formats: one module per format. Each computes records and writes nothing."""
