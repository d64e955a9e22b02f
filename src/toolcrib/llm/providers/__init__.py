"""Providers: one file a vendor's API, each an extra of its own."""
