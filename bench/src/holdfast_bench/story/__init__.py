"""A benchmark of the designs over a month: stories with outages, restarts, kills, changes and refusals."""
