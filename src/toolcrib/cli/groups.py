"""Groups of commands, one of which is meant where none is named."""

from typing import Any, ClassVar

from typer.core import TyperGroup


class UnlessTold(TyperGroup):
    """Takes `GROUP …` for the command that is meant unless another one is named."""

    meant: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See the base class."""
        named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named else [self.meant, *args])

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Print the options of that command among the help of the group, then the commands."""
        self.commands[self.meant].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)
