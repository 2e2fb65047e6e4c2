"""Work that happens after a call returns: queued jobs, digesting conversations, condensing, housekeeping.

Start with ``digest.py``, then ``jobs.py`` for how work is queued and retried.
"""
