"""Tests of models, on this machine and over HTTP."""
