"""Tests of the check that accepts or refuses each item of a model's answer."""
