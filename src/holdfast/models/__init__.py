"""Chat, embedding and speech models. ``local`` runs on this machine, ``remote`` over HTTP; ``chat_budget.py`` limits spending."""
