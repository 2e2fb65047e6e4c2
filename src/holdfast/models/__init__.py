"""Chat, embedding and speech models: ``local`` on this machine, ``remote`` over HTTP. ``chat_budget.py`` limits spending."""
