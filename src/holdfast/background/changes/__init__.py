"""Changes that the user states: memories and messages that become outdated, for certain or possibly."""
