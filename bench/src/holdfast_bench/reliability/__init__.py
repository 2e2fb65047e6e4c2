"""The forty rows of reliability: what is checked, and how."""
