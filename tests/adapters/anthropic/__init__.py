"""Anthropic's memory tool."""
