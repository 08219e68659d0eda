"""Tests against a real Redis and a real PostgreSQL: `pytest tests/servers`."""
