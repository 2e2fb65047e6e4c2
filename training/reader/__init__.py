"""Training of the sentence reader, which classifies a clause and decides whether it ends an older claim."""
