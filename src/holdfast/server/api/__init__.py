"""Request and response bodies of the HTTP API, problem+json, and OpenAPI. Start with ``requests.py`` and ``responses.py``."""
