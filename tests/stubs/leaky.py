"""A server that tells its secrets wherever it can: `leaky.py [--api-key KEY]`; from its environment it takes LEAK_*."""

import json
import os
import sys

from stub import RpcError, Stub, text, tool

SECRETS = [value for name, value in sorted(os.environ.items()) if name.startswith("LEAK_")] + sys.argv[2:3]


class Leaky(Stub):
    """Writes its secrets to standard error, and answers with them."""

    tools = (tool("tell"), tool("fail"), tool("refuse"), tool("die"))

    def call(self, name, arguments, params, request_id):
        said = " ".join([*SECRETS, json.dumps(arguments)])
        print(f"called {name}: {said}", file=sys.stderr, flush=True)
        if name == "refuse":
            raise RpcError(-32000, f"refused: {said}", {"said": said})
        if name == "die":
            os._exit(3)
        return {**text(said), "isError": name == "fail"}


print("starting with", *SECRETS, file=sys.stderr, flush=True)
if "--crash" in sys.argv:
    raise SystemExit("no: " + " ".join(SECRETS))
Leaky().run()
