"""Tests of the modules at the root: engine, sessions, apps, scopes, writing and history."""
