"""The recipe of the training data."""
