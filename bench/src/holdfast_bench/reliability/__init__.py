"""The forty rows of reliability, and the checks for each row."""
