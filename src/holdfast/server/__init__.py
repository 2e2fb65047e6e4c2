"""Holdfast over HTTP: the routes, and what stands before them. ``app.make_app`` puts it together."""
