"""How well a search finds the right tool, over labelled sets of requests."""
