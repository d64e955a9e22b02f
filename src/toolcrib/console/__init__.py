"""The console: the web page on which people see what their tools do, and decide what waits for them."""

from toolcrib.console.access import Doorkeeper, Role, Visitor
from toolcrib.console.mount import CONSOLE_PATH, Console, entry_link

__all__ = ["CONSOLE_PATH", "Console", "Doorkeeper", "Role", "Visitor", "entry_link"]
