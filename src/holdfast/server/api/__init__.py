"""Request and response bodies of the HTTP API, error responses, and OpenAPI. Start with ``requests.py`` and ``responses``."""
