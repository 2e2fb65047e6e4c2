"""Which new fact ends, corrects or repeats an old one. Start with ``reconcile.py``."""
