"""Run all parts, or the named ones, and print one document."""

import os
import pkgutil
import platform
import sys
from argparse import ArgumentParser
from importlib import import_module
from importlib.metadata import version
from typing import Any

import bench.broker
from bench.report import Target, arguments, emit


def parts() -> dict[str, Any]:
    """The modules beside this one by name."""
    names = sorted(each.name for each in pkgutil.iter_modules(bench.broker.__path__) if each.name != "__main__")
    return {name: import_module(f"bench.broker.{name}") for name in names}


def _options(known: dict[str, Any]) -> ArgumentParser:
    parser = arguments("What the broker costs.")
    parser.add_argument("--only", action="append", choices=list(known), help="run this part; may be repeated")
    for part in known.values():
        if hasattr(part, "add_options"):
            part.add_options(parser)
    return parser


def main() -> None:
    known = parts()
    options = _options(known).parse_args()
    figures: dict[str, Any] = {
        "machine": f"Python {platform.python_version()}, mcp {version('mcp')}, {os.cpu_count()} cores"
    }
    targets: list[Target] = []
    for name in options.only or known:
        sys.stderr.write(f"{name} …\n")
        figures[name] = known[name].measure(options)
        targets += known[name].targets(figures[name])
    emit("broker", figures, targets, as_json=options.json)


if __name__ == "__main__":
    main()
