"""The training of the reader: what a clause says, whose it is, and whether it ends an older memory."""
