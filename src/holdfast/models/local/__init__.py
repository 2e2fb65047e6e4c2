"""Models that run on this machine: embedders, rerankers, sentence readers and chat models."""
