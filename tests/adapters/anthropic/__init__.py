"""Tests of the adapter for Anthropic's memory tool."""
