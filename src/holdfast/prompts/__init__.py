"""Words for models and prompts, in files of their own."""
