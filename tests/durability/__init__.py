"""Killed processes, power cuts, many writers at once: nothing acknowledged is lost, nothing happens twice."""
