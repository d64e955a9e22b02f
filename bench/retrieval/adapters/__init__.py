"""Peers' own search, each run with the Python of the peer's own environment."""
