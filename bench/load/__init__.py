"""Many clients at once over HTTP, against a bare server of the SDK under the same load, and one at a time."""
