"""Import memories from other programs."""
