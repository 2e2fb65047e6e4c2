"""Scripts that build the training data."""
