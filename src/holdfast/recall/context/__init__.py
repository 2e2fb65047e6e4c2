"""Context blocks. ``builder.py`` gathers the hits. ``block.py`` renders the default block, and ``sections.py`` a preset's layout."""
