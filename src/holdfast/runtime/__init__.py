"""Services of the process: clock, ids, fork safety, tracing. Each file stands alone."""
