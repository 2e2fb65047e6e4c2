"""Settings, models and folders of this machine, and ``open_engine``, which assembles an engine from them. Start with ``opening.py``."""
