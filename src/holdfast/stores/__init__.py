"""Where memories are kept. Stores know types and protocols, never the engine."""
