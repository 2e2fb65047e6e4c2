"""Measuring, on your own machine and in one run, so that numbers can be compared."""
