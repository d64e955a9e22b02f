"""The demo's ticket tracker."""

from toolcrib.demo.tickets.app import APP

__all__ = ["APP"]
