"""Killed processes, power cuts and concurrent writers: nothing acknowledged is lost, and nothing happens twice."""
