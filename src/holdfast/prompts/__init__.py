"""Texts of prompts and tools, in TOML files."""
