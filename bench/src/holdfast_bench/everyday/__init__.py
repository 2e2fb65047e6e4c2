"""A benchmark of everyday memory: people with weeks of talk, and questions with and without an answer."""
