"""Children that are spoken to in lines of JSON: one engine for CPython and Deno."""
