"""Benchmarks with several servers, workers and tenants on one PostgreSQL. Start with ``shared.py``."""
