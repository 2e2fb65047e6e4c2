"""Killed processes, power cuts and many writers at once: nothing acknowledged is lost, and nothing happens twice."""
