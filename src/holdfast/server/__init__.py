"""The HTTP server: routes, middleware and the dashboard. ``app.make_app`` assembles it."""
