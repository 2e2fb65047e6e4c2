"""Cut a statement into its parts, so that a change ends one part and leaves the rest."""
