"""The `python` back-end: Monty, an interpreter of a part of Python in a process of its own, driven step by step."""
