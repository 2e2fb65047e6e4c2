"""Split a statement into its parts, to keep the parts that are still true after a change."""
