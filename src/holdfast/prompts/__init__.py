"""Prompt and tool texts, one TOML file each."""
