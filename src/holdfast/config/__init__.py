"""Settings, folders and model selection. ``open_engine`` builds an engine from them. Start reading in ``opening.py``."""
