"""Process-level services: clock, ids, fork safety, tracing. The files are independent of each other."""
