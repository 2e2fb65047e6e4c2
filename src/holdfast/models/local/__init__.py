"""Models that run on this machine: embedders, cross-encoders and llama.cpp."""
