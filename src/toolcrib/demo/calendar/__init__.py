"""The demo's calendar."""

from toolcrib.demo.calendar.app import APP

__all__ = ["APP"]
