"""A server whose tools are what a file says at the moment: `changing.py FILE`, a JSON list of definitions.

Where the file has changed since the last answer, it tells of that before the next one.
"""

import sys
from json import loads
from pathlib import Path

from stub import Stub


class Changing(Stub):
    """Lists what the file says."""

    tells_of_changes = True
    seen = None

    @property
    def tools(self):
        self.seen = Path(sys.argv[1]).read_text()
        return loads(self.seen)

    def call(self, name, arguments, params, request_id):
        if name == "storm":
            for _ in range(200):
                self.notify("notifications/tools/list_changed")
        return super().call(name, arguments, params, request_id)


Changing().run()
