"""`SavedScript`: a script under a name, as a tool that can be called and as the file that keeps it."""

import hashlib
import json
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from toolcrib.catalog import JsonObject
from toolcrib.errors import UsageError, shown
from toolcrib.sandbox import Language
from toolcrib.schema import parameter_identifiers
from toolcrib.schema.jsonvalues import NotJsonError, extent, is_object
from toolcrib.scripts.signature import MAIN, Signature, signature_of

MOST_CODE = 256 * 1024
"""Characters of a script at most."""
MOST_ARGUMENTS = 1024 * 1024
"""Characters of the JSON of a call's arguments at most: they become a part of the script."""

TEXT_META = "toolcrib/text"
"""Member of the `_meta` of a script's definition: the beginning of the SHA-256 of its text."""

_FORMAT = 1
_DEEPEST = 50
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_LANGUAGES: dict[str, Language] = {"python": "python", "typescript": "typescript", "javascript": "javascript"}
_FUNCTION = re.compile(rf"^(?:export\s+)?(?:async\s+)?function\s+{MAIN}\s*\(", re.MULTILINE)
_CALLED = re.compile(rf"^(?:await\s+)?{MAIN}\s*\(", re.MULTILINE)


@dataclass(frozen=True)
class SavedScript:
    """A script that is kept under a name.

    Attributes:
        name: Its name; it is the tool `scripts.NAME`.
        code: The script.
        description: What it does, where that was given; else what its text says of itself.
        language: What it is written in.
        given: The schema of its arguments where that was given; else it is that of the signature of `main`.
        saved_at: When, in seconds since 1970.
    """

    name: str
    code: str
    description: str = ""
    language: Language = "python"
    given: JsonObject | None = None
    saved_at: float = field(default=0.0, compare=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        if not self.code.strip():
            raise UsageError("There is nothing to save: the script is empty.")
        if len(self.code) > MOST_CODE:
            raise UsageError(f"The script has {len(self.code):,} characters; at most {MOST_CODE:,} are kept.")
        if self.given is not None:
            self._check_given(self.given)

    @cached_property
    def signature(self) -> Signature:
        """How it is called.

        Raises:
            UsageError: Its text does not say so.
        """
        if self.language == "python":
            return signature_of(self.code, with_types=self.given is None)
        has_main = bool(_FUNCTION.search(self.code)) and not _CALLED.search(self.code)
        none: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}
        return Signature(has_main, True, none, None, takes_more=True)

    @property
    def parameters(self) -> JsonObject:
        """The schema of its arguments."""
        return self.signature.parameters if self.given is None else self.given

    @property
    def about(self) -> str:
        """What it does, as far as anybody said."""
        return self.description or self.signature.description

    @property
    def definition(self) -> JsonObject:
        """It as a tool, as a server would list it.

        It tells one text from another: what was allowed of one is not allowed of what takes its place.
        """
        digest = hashlib.sha256(self.code.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        definition: JsonObject = {"name": self.name, "inputSchema": self.parameters, "_meta": {TEXT_META: digest}}
        if self.about:
            definition["description"] = self.about
        if self.signature.returns is not None:
            definition["outputSchema"] = self.signature.returns
        return definition

    def program(self, arguments: Mapping[str, Any]) -> str:
        """The script that a call runs: this one, and a call of `main` with the arguments behind it, so that its
        lines stay.

        Args:
            arguments: They fit the schema.

        Raises:
            UsageError: They are too large, or nested too deep, to be written into a script.
        """
        if not self.signature.has_main:
            return self.code
        text = _written(self.name, arguments)
        if self.language != "python":
            return f"{self.code}\nawait {MAIN}(JSON.parse({json.dumps(text)}));"
        names = parameter_identifiers(arguments)
        given = ", ".join(f"{names[name]}={value!r}" for name, value in arguments.items())
        return f"{self.code}\n{'await ' if self.signature.is_async else ''}{MAIN}({given})"

    def to_json(self) -> JsonObject:
        """What is kept of it."""
        return {
            "format": _FORMAT,
            "name": self.name,
            "language": self.language,
            "description": self.description,
            "parameters": self.given,
            "saved_at": self.saved_at,
            "code": self.code,
        }

    @classmethod
    def from_json(cls, name: str, stored: object) -> "SavedScript":
        """What was kept under a name.

        Raises:
            UsageError: It is not what is kept of a script.
        """
        if not is_object(stored) or stored.get("format") != _FORMAT or stored.get("name") != name:
            raise UsageError("It is of another form than what Toolcrib writes.")
        code, description, language = (stored.get(each) for each in ("code", "description", "language"))
        given, saved_at = stored.get("parameters"), stored.get("saved_at")
        fits = isinstance(code, str) and isinstance(description, str) and language in _LANGUAGES
        if not fits or not (given is None or is_object(given)) or not isinstance(saved_at, int | float):
            raise UsageError("A member of it is missing, or of another type.")
        script = cls(name, cast("str", code), cast("str", description), _LANGUAGES[str(language)], given, saved_at)
        # What can't be called is told here, not when a tool is made of it.
        script._check_main()
        return script

    def checked(self) -> "SavedScript":
        """The same, once what its text says of its arguments goes together with what was given.

        Raises:
            UsageError: It does not.
        """
        self._check_main()
        return self

    def _check_main(self) -> None:
        signature = self.signature
        if self.given is None:
            return
        properties = cast("JsonObject", self.given.get("properties") or {})
        if not signature.has_main:
            if not properties:
                return
            raise UsageError(
                f"The script has parameters, and no function {MAIN} that takes them.",
                hint=f"Put what it does into a function {MAIN}, and don't call it: that is done with the arguments.",
            )
        if self.language != "python":
            return
        names = set(parameter_identifiers(properties).values())
        required = [str(each) for each in cast("list[Any]", self.given.get("required") or [])]
        sure = {parameter_identifiers([*properties, *required])[each] for each in required}
        if not signature.takes_more and (strange := sorted(names - set(signature.names))):
            raise UsageError(f"{MAIN} takes no parameter {strange[0]}, which the schema has.")
        if missing := [each for each in signature.needed if each not in sure]:
            raise UsageError(
                f"{MAIN} needs {missing[0]}, which the schema does not require.", hint="Give it a default."
            )

    @staticmethod
    def _check_given(given: JsonObject) -> None:
        properties = given.get("properties", {})
        required = given.get("required", [])
        if given.get("type") != "object" or not is_object(properties) or not isinstance(required, list):
            raise UsageError(
                "The parameters must be a JSON Schema of type object, whose properties are the parameters.",
                hint='For example: {"type": "object", "properties": {"project": {"type": "string"}}}',
            )


def check_name(name: str) -> None:
    """Refuse what can't be the name of a saved script.

    Names are in lower case, so that they are as different in a folder that takes upper and lower case for the same.

    Raises:
        UsageError: It can't.
    """
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(
            f"{shown(name, 80)} can't be the name of a script.",
            hint="Use a letter, then letters, digits and _, all in lower case, at most 64; no word of Python's own.",
        )


def _written(name: str, arguments: Mapping[str, Any]) -> str:
    """Arguments as JSON, not too much of it."""
    try:
        extent(arguments, _DEEPEST)
        text = json.dumps(arguments)
        problem = f"have more than {MOST_ARGUMENTS:,} characters" if len(text) > MOST_ARGUMENTS else ""
    except NotJsonError as error:
        text, problem = "", f"can't be written into a script, since a value {error}"
    if problem:
        raise UsageError(f"The arguments of {name} {problem}.")
    return text
