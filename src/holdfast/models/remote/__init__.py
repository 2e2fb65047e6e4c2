"""Models that providers serve over HTTP."""
