"""An assistant with memory: the chat loop in ``agent.py``, and the memory tools for models in ``tools.py``."""
