"""A server that dies in the middle of its first call, and works when it is started again: `dies_once.py LOG`."""

import os
import sys

from stub import Stub


class DiesOnce(Stub):
    def call(self, name, arguments, params, request_id):
        if self.log_path.read_text().count('"event": "start"') == 1:
            os._exit(7)
        return super().call(name, arguments, params, request_id)


if __name__ == "__main__":
    DiesOnce(sys.argv[1]).run()
