"""A benchmark of everyday memory: people with weeks of conversation, and questions with and without an answer."""
