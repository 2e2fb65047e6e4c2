"""TOML files with the texts of prompts and the descriptions of tools."""
