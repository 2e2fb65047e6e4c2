"""Users' wishes about memory: "don't save this", "forget ...", "remember ...". Start with ``rules.py``."""
