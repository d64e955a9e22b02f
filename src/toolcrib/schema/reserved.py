"""Names that a server id may not take, since scripts give them another meaning.

The lists are written out instead of asked of the running interpreter, so that an id is the same
under every version of Python.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PYTHON = _words(
    # keywords (docs.python.org/3/reference/lexical_analysis.html), soft ones included
    "and as assert async await break case class continue def del elif else except finally for from "
    "global if import in is lambda match nonlocal not or pass raise return try type while with yield "
    # builtins (docs.python.org/3/library/functions.html) and what the site module adds
    "abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile "
    "complex delattr dict dir divmod enumerate eval exec filter float format frozendict frozenset getattr "
    "globals hasattr hash help hex id input int isinstance issubclass iter len list locals map max "
    "memoryview min next object oct open ord pow print property range repr reversed round set setattr "
    "slice sorted staticmethod str sum super tuple vars zip copyright credits exit license quit"
)

TYPESCRIPT = _words(
    # reserved words of ECMAScript (ECMA-262, 12.7.2), strict and future ones, and those of TypeScript
    "abstract accessor any arguments as asserts async await bigint boolean break case catch class const "
    "constructor continue debugger declare default delete do else enum export extends false finally for "
    "from function get global if implements import in infer instanceof interface intrinsic is keyof let "
    "module namespace never new null number object of out override package private protected public "
    "readonly require return satisfies set static string super switch symbol this throw true try type "
    "typeof undefined unique unknown using var void while with yield "
    # globals of the language and of the runtimes that scripts may run in
    "alert atob btoa caches clearinterval close closed confirm console crypto escape eval event exports "
    "fetch globalthis isnan location name navigator performance process prompt prototype self "
    "then unescape window document"
)

MODULES = _words(
    # modules that a script can import, or looks for; `calendar` is left out: it is the name of many a server,
    # and no script has been seen to need the module
    "abc asyncio base64 binascii bisect collections contextlib copy csv dataclasses datetime decimal enum "
    "fractions functools hashlib heapq html io itertools json logging math operator os pathlib pprint random "
    "re statistics string sys textwrap time tomllib traceback types typing unicodedata urllib uuid zoneinfo"
)

OWN = _words(
    # meta-tools, and words that stand for something of Toolcrib's in ids, prefixes and scripts
    "toolcrib crib mcp tools skills scripts search_tools get_tool_details call_tool run_code read_result "
    "read_tool search_available_servers enable_server disable_server mcp_list_resources "
    "mcp_read_resource"
)

SERVER_IDS = PYTHON | TYPESCRIPT | MODULES | OWN
"""What no server id may be: such a key gets a trailing `_`."""
