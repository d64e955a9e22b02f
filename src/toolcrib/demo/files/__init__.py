"""The demo's file library."""

from toolcrib.demo.files.app import APP

__all__ = ["APP"]
