"""Settings, folders and model selection, and ``open_engine``, which builds an engine from them. Start with ``opening.py``."""
