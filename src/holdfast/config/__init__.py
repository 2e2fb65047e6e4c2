"""Configuration: the environment, folders, settings, and the concrete stores and models they name."""
