"""What every bench prints: figures for a person, or one JSON document with targets."""

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast


@dataclass(frozen=True)
class Target:
    """One budget, and whether it was met."""

    name: str
    value: float
    unit: str
    target: float
    better: Literal["lower", "higher"] = "lower"

    @property
    def met(self) -> bool:
        return self.value <= self.target if self.better == "lower" else self.value >= self.target


@dataclass(frozen=True)
class Spread:
    """Counts of one measured quantity."""

    n: int
    median: float
    p90: float
    largest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        ordered = sorted(values)
        at = min(len(ordered) - 1, int(len(ordered) * 0.9))
        return cls(len(ordered), round(statistics.median(ordered), 4), round(ordered[at], 4), round(ordered[-1], 4))


def ratio(measured: Sequence[float], base: Sequence[float]) -> float:
    """How many times what was measured is of its base: the median over pairs that were measured side by side."""
    return round(statistics.median(one / other for one, other in zip(measured, base, strict=True)), 3)


def arguments(description: str) -> argparse.ArgumentParser:
    """The options that every bench has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def data_option(parser: argparse.ArgumentParser) -> None:
    """The option that names recorded catalogs."""
    default = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "catalogs"
    parser.add_argument("--data", type=Path, default=default, help="a folder of recorded catalogs, one JSON file each")


def read_catalogs(folder: Path) -> dict[str, dict[str, Any]]:
    """The recorded catalogs of a folder by server; exits with 2 when there are none."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        catalog = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
        if isinstance(catalog.get("tools"), list) and catalog["tools"]:
            found[path.stem] = catalog
    if not found:
        sys.stderr.write(f"no recorded catalogs in {folder}; name a folder with --data\n")
        raise SystemExit(2)
    return found


def emit(name: str, figures: Mapping[str, Any], targets: Sequence[Target], *, as_json: bool) -> None:
    """Print what was measured."""
    if as_json:
        rows = [{**asdict(each), "met": each.met} for each in targets]
        json.dump({"bench": name, "figures": figures, "targets": rows}, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    for key, value in figures.items():
        sys.stdout.write(f"{key}: {_shown(value)}\n".replace(": \n", ":\n", 1))
    for each in targets:
        sign = "≤" if each.better == "lower" else "≥"
        verdict = "met" if each.met else "NOT MET"
        sys.stdout.write(f"{verdict}: {each.name}: {each.value:g} {each.unit} ({sign} {each.target:g})\n")


def _shown(value: Any) -> str:
    """A figure as text: a mapping of mappings as a block, any other on one line."""
    if isinstance(value, Mapping):
        members = {key: _shown(inner) for key, inner in cast("Mapping[str, Any]", value).items()}
        if any(isinstance(inner, Mapping) for inner in cast("Mapping[str, Any]", value).values()):
            return "".join(f"\n  {key}: {inner}" for key, inner in members.items())
        return ", ".join(f"{key} {inner}" for key, inner in members.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
