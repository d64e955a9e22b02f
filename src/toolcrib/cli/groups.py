"""Groups of commands, one of which is meant where none is named."""

from typing import Any, ClassVar

from typer.core import TyperGroup

_NEVER_CUT = 1000


class UnlessTold(TyperGroup):
    """Takes `GROUP …` for the command that is meant unless another one is named.

    Attributes:
        meant: The command.
        meant_with_id: The one that is meant where something stands in the place of a command that is none; empty for
            the same.
    """

    meant: ClassVar[str]
    meant_with_id: ClassVar[str] = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See the base class."""
        if ctx.resilient_parsing and not args:
            return super().parse_args(ctx, args)  # a shell asks what may come next: a command may
        if args and (args[0] in self.commands or args[0] in ctx.help_option_names):
            return super().parse_args(ctx, args)
        has_id = bool(args) and not args[0].startswith("-")
        meant = self.meant_with_id if has_id and self.meant_with_id else self.meant
        if has_id and not any(each.param_type_name == "argument" for each in self.commands[meant].params):
            return super().parse_args(ctx, args)  # no id can be meant: it is a command that there is not
        return super().parse_args(ctx, [meant, *args])

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """What may stand after the group: its commands, and what the one that is meant takes."""
        found = super().shell_complete(ctx, incomplete)
        meant = self.commands[self.meant_with_id or self.meant]
        inner = meant.make_context(self.meant, [], parent=ctx, resilient_parsing=True)
        if incomplete.startswith("-"):
            return [*{each.value: each for each in (*found, *meant.shell_complete(inner, incomplete))}.values()]
        places = [each for each in meant.params if each.param_type_name == "argument"]
        return [*found, *(item for each in places[:1] for item in each.shell_complete(inner, incomplete))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Print the options of that command among the help of the group, then the commands."""
        self.commands[self.meant].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Print the whole first sentence of each command, on as many lines as it takes; the base class cuts it."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, each.get_short_help_str(_NEVER_CUT)) for name, each in self.commands.items() if not each.hidden]
            )
