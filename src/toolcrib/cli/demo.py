"""`toolcrib demo`: a short story with real figures."""

import json
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolcrib.cli.begin import client_commands, client_entry, quoted
from toolcrib.cli.costs import Costs, count_costs
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.progress import list_anew, progress
from toolcrib.cli.session import read_config, resting, run, small_model, tell_left_out
from toolcrib.cli.streams import print_json, print_text, tell
from toolcrib.cli.tables import print_styled
from toolcrib.config import Config, config_from_mapping, load_config, user_config_dir
from toolcrib.demo import demo_config
from toolcrib.errors import ServerError

if TYPE_CHECKING:
    from toolcrib.cli.story import Chapter


def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the demo's servers as a configuration to try.")] = False,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Show what Toolcrib does, on servers that ship with it.

    With --config, on your own servers: they are listed and searched, and no tool is called but one that says that it
    only reads and that needs no arguments.

    Example: toolcrib demo --config ~/.cursor/mcp.json
    """
    if config:
        own = resting(read_config(config))
        with _temporary() as folder:
            return run(partial(_demo, own, config, Path(folder), own=True, as_json=as_json))
    if not keep:
        with _temporary() as folder:
            shipped = config_from_mapping(demo_config())
            return run(partial(_demo, shipped, None, Path(folder), own=False, as_json=as_json))
    folder = tempfile.mkdtemp(prefix="toolcrib-demo-")
    file = Path(folder) / "mcp.json"
    file.write_text(json.dumps(demo_config(Path(folder) / "data"), indent=2), encoding="utf-8")
    code = run(partial(_demo, load_config(file), [file], Path(folder) / "state", own=False, as_json=as_json))
    tell(f"The demo's servers are kept: toolcrib search --config {quoted(str(file))} WORDS")
    return code


def _temporary() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="toolcrib-demo-", ignore_cleanup_errors=True)


async def _demo(config: Config, files: Sequence[Path] | None, state: Path, *, own: bool, as_json: bool) -> int:
    from toolcrib.cli.story import Model, demo_story, own_story, surface
    from toolcrib.crib import Crib
    from toolcrib.metatools import MetaTools

    began = perf_counter()
    chapters: list[Chapter] = []

    def tell_chapter(chapter: "Chapter") -> None:
        chapters.append(chapter)
        if not as_json:
            _print_chapter(len(chapters), chapter)

    async with Crib.open(config, state_dir=state, small_model=small_model(config)) as crib:
        known = await list_anew(crib, [each.id for each in crib.servers if each.state != "disabled"])
        tell_left_out([each for each in crib.servers if each.in_trouble], "shown")
        with progress("Counting tokens"):
            costs = await count_costs(crib)
        if not costs.tools:
            raise ServerError(known[0].id if known else "", "None of the servers lists any tool.")
        model = Model(MetaTools(crib))
        tell_chapter(surface(costs, len(model.tools.definitions())))
        story = own_story(crib, model, costs) if own else demo_story(crib, model)
        async for chapter in story:
            tell_chapter(chapter)
    seconds = perf_counter() - began
    if as_json:
        print_json(_as_json(chapters, model.tokens, seconds, files))
    else:
        _print_end(costs, model.tokens, seconds, files, own=own)
    return 0


def _print_chapter(number: int, chapter: "Chapter") -> None:
    print_styled((f"{number}. {chapter.title}", "bold"))
    if chapter.asked is not None:
        print_styled(("> ", "dim"), (chapter.asked, "cyan"), indent=3)
    for line in chapter.lines:
        print_styled(line, indent=3)
    print_text()
    sys.stdout.flush()


def _print_end(costs: Costs, spent: int, seconds: float, files: Sequence[Path] | None, *, own: bool) -> None:
    print_styled(
        (f"All this and the constant tools took {costs.surface + spent:,} tokens", "bold"),
        f"; the definitions alone would have taken {costs.total:,} before the first word.",
    )
    print_styled((f"Counted by {costs.counter}; {seconds:.1f} s.", "dim"))
    print_text()
    if files is not None and not own:
        print_styled(("The demo's servers in a client", "bold"))
        print_styled("toolcrib import and toolcrib install CLIENT are for your own servers.")
        print_styled("For the demo's, add this beside what a client has, by another name if Toolcrib is there already:")
    else:
        print_styled(("Your own client", "bold"))
        if files is None:
            from toolcrib.clients import CLIENTS

            print_styled("toolcrib install CLIENT --dry-run shows how Toolcrib would take its servers over.")
            print_styled(f"CLIENT is one of {', '.join(each.id for each in CLIENTS)}.")
            print_styled(f"By hand: move the servers from its configuration into {_own_file()}.")
        print_styled("In place of its servers, the client's configuration gets this:")
    print_text(json.dumps(client_entry(_configs(files)), ensure_ascii=False, indent=2))
    print_text()
    for client, line in client_commands(_configs(files)).items():
        print_styled((f"{client}:", "bold"))
        print_text(f"  {line}")  # left to the terminal to wrap, so that it can be copied


def _as_json(chapters: "Sequence[Chapter]", spent: int, seconds: float, files: Sequence[Path] | None) -> dict[str, Any]:
    return {
        "chapters": {each.key: dict(each.figures) for each in chapters},
        "conversation_tokens": spent,
        "seconds": round(seconds, 2),
        "connect": {"entry": client_entry(_configs(files)), "commands": client_commands(_configs(files))},
    }


def _configs(files: Sequence[Path] | None) -> list[Path]:
    return list(files or [_own_file()])


def _own_file() -> Path:
    return user_config_dir() / "mcp.json"
