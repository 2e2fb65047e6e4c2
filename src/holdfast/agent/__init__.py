"""An assistant with memory: the chat loop in ``agent.py``, and the memory tools a model can call in ``tools.py``."""
