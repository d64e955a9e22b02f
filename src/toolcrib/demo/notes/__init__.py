"""The demo's notebook."""

from toolcrib.demo.notes.app import APP

__all__ = ["APP"]
