"""Tests of the adapter for the session of OpenAI's Agents SDK."""
