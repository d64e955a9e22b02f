"""A real small model with the tools of a crib: `python -m bench.llm`."""
