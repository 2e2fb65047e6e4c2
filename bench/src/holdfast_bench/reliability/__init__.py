"""Forty reliability requirements, one per row of ``rows.toml``, and the checks of each."""
