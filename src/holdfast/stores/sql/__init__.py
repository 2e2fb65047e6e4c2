"""What both SQL stores share: rows, reads, one transaction, filters, ranking by words. Start with ``transaction.py``."""
