"""`${...}` in a configuration: what may stand there and how it is replaced, at connect time."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from toolcrib.errors import ConfigError, shown

KEYRING_SERVICE = "toolcrib"
"""The service name under which `${keyring:name}` looks its passwords up."""

_PLACEHOLDER = re.compile(r"\$\$\{|\$\{(?P<body>[^{}]*)\}|\$\{")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LITERAL_HINT = "Write $${ where a literal ${ is meant."


@dataclass(frozen=True, slots=True)
class Input:
    """One entry of VS Code's `inputs`: a value that the user is asked for.

    Attributes:
        id: What `${input:id}` calls it.
        description: The question.
        password: Whether the answer is a secret.
        default: The answer when none is given; None when there is none.
        options: The answers to choose from; empty when any text will do.
    """

    id: str
    description: str = ""
    password: bool = False
    default: str | None = field(default=None, repr=False)
    options: tuple[str, ...] = ()


def system_keyring(name: str) -> str | None:
    """The password that the system's keyring holds for `name`, or None.

    Raises:
        ConfigError: There is no keyring, it is locked, or it fails.
    """
    import keyring

    try:
        return keyring.get_password(KEYRING_SERVICE, name)
    except Exception as error:  # back-ends raise errors of their own libraries (D-Bus, Win32, Keychain)
        raise ConfigError(
            f"The system's keyring can't be read ({type(error).__name__}).",
            hint="Unlock it, or use ${env:NAME} instead of ${keyring:name}.",
        ) from None


@dataclass(frozen=True, slots=True)
class Variables:
    """Where `${...}` finds its values.

    Attributes:
        environ: For `${VAR}` and `${env:VAR}`; the process's environment by default.
        inputs: The configuration's `inputs` by id.
        ask: Asks the user for an input; None, or an answer of None, leaves it to `TOOLCRIB_INPUT_<ID>` and
            then the entry's default.
        keyring: Looks a `${keyring:name}` up; None means that there is no such entry.
        workspace_folder: For `${workspaceFolder}`; None means the project that the configuration file
            belongs to, or else the working directory.
    """

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    inputs: Mapping[str, Input] = field(default_factory=dict[str, Input])
    ask: Callable[[Input], str | None] | None = None
    keyring: Callable[[str], str | None] = system_keyring
    workspace_folder: Path | None = None


class Expander:
    """Replaces `${...}` in the texts of one server's entry, once and never recursively.

    Args:
        variables: Where the values come from.
        project: The project that the configuration file belongs to, if any.

    Attributes:
        private: Name and value of everything that came from outside the file and may be secret. A value from
            the keyring or a password input has a name that says so.
    """

    def __init__(self, variables: Variables, project: Path | None = None) -> None:
        self._variables = variables
        self._workspace = variables.workspace_folder or project or Path.cwd()
        self._found: dict[str, str | None] = {}
        self.private: list[tuple[str, str]] = []

    def expand(self, text: str, where: str) -> str:
        """The text with every placeholder replaced; `$${` becomes `${`, a bare `$VAR` stays.

        Args:
            text: A text of the configuration.
            where: Which server and field it belongs to, for errors.

        Raises:
            ConfigError: A placeholder has no value, is not known or is not closed.
        """

        def replacement(match: re.Match[str]) -> str:
            if match.group() == "$${":
                return "${"
            body = match["body"]
            if body is None:
                raise ConfigError(f"{where}: a ${{ is not closed, or holds another one.", hint=_LITERAL_HINT)
            return self._value(body, where)

        return _PLACEHOLDER.sub(replacement, text)

    def _value(self, body: str, where: str) -> str:
        # As in a POSIX shell, `:-` also replaces a variable that is set to nothing.
        name, has_default, default = body.partition(":-")
        value = self._look_up(name, where)
        if has_default:
            return value or default
        if value is None:
            raise ConfigError(f"{where}: {_missing(name)}.", hint=_remedy(name))
        return value

    def _look_up(self, name: str, where: str) -> str | None:
        fixed = self._fixed(name)
        if fixed is not None:
            return fixed
        if name not in self._found:
            secret, value = self._ask_for(name, where)
            self._found[name] = value
            if value:
                self.private.append((f"{name} secret" if secret else name, value))
        return self._found[name]

    def _fixed(self, name: str) -> str | None:
        match name:
            case "userHome":
                return os.path.expanduser("~")
            case "workspaceFolder":
                return str(self._workspace)
            case "workspaceFolderBasename":
                return self._workspace.name
            case "pathSeparator" | "/":
                return os.sep
            case _:
                return None

    def _ask_for(self, name: str, where: str) -> tuple[bool, str | None]:
        kind, colon, rest = name.partition(":")
        if not colon and _NAME.fullmatch(name):
            return False, self._variables.environ.get(name)
        if kind == "env" and rest:
            return False, self._variables.environ.get(rest)
        if kind == "input" and rest:
            entry = self._variables.inputs.get(rest) or Input(rest)
            return entry.password, self._input(entry)
        if kind == "keyring" and rest:
            return True, self._keyring(rest, where)
        raise ConfigError(f"{where}: {shown(f'${{{name}}}')} is no known variable.", hint=_LITERAL_HINT)

    def _input(self, entry: Input) -> str | None:
        answer = self._variables.ask(entry) if self._variables.ask else None
        if answer is None:
            answer = self._variables.environ.get(input_variable(entry.id))
        return entry.default if answer is None else answer

    def _keyring(self, name: str, where: str) -> str | None:
        try:
            return self._variables.keyring(name)
        except ConfigError as error:
            raise ConfigError(f"{where}: {error.message}", hint=error.hint) from None


def input_variable(input_id: str) -> str:
    """The environment variable that answers an input: `api-key` is `TOOLCRIB_INPUT_API_KEY`."""
    return f"TOOLCRIB_INPUT_{re.sub(r'[^A-Za-z0-9]', '_', input_id).upper()}"


def _missing(name: str) -> str:
    kind, colon, rest = name.partition(":")
    if kind == "input" and colon:
        return f"the input {shown(rest)} has no value"
    if kind == "keyring" and colon:
        return f"the keyring holds no {shown(rest)}"
    return f"the environment variable {rest if colon else name} is not set"


def _remedy(name: str) -> str:
    kind, colon, rest = name.partition(":")
    if kind == "input" and colon:
        return f"Set the environment variable {input_variable(rest)}, or give the input a default."
    if kind == "keyring" and colon:
        return f"Store it with: keyring set {KEYRING_SERVICE} {rest}"
    variable = rest if colon else name
    return f"Set {variable}, or give a default: ${{{variable}:-...}}."
