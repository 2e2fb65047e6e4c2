"""Tests of the routes for administrators."""
