"""How well conversations are learned from, on labelled data; and training of the classifier. Start with ``benchmark.py``."""
