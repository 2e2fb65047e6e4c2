"""The session of OpenAI's Agents SDK."""
