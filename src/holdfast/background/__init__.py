"""Background work: queued jobs, digesting sessions, condensing, and housekeeping.

Start with ``digest.py``, then ``jobs.py`` for how work is queued and retried.
"""
