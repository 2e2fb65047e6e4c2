"""Tests of the modules in the package root: engine, sessions, apps, scopes, writing and history."""
