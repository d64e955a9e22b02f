"""Arguments made ready for a call: safe mismatches mended, the rest checked against the tool's own schema."""

from functools import cache

from toolcrib.broker.call import Prepared
from toolcrib.catalog import JsonObject, Tool
from toolcrib.errors import ToolcribError
from toolcrib.schema import UnusableSchemaError, ValidationResult, Validator, ValidatorCache, coerce, compile_validator


class InvalidArgumentsError(ToolcribError):
    """The arguments don't fit the tool's schema; nothing was sent.

    Args:
        tool: The tool, whose schema a face shows beside the problems.
        result: Every problem, with its path.
    """

    code = "arguments_invalid"

    def __init__(self, tool: Tool, result: ValidationResult) -> None:
        problems = "; ".join((result.error or "").splitlines())
        super().__init__(
            f"The arguments of {tool.id} are not valid: {problems}{'' if problems.endswith('?') else '.'}",
            hint="Nothing was called; correct them and call again.",
        )
        self.tool = tool
        self.result = result

    def to_json(self) -> dict[str, object]:
        """As `ToolcribError.to_json`, with each problem by path."""
        problems = [{"path": each.path, "message": each.message} for each in self.result.errors]
        return {**super().to_json(), "tool": self.tool.id, "problems": problems}


@cache
def _anything() -> Validator:
    """What tells whether arguments can be sent at all; made when first needed, since engines take long to load."""
    return compile_validator({"type": "object"})


def mended(tool: Tool, arguments: JsonObject) -> JsonObject:
    """The arguments as a call would send them, whether or not they fit the tool's schema."""
    return Preparer().prepare(tool, 0, arguments).arguments


class Preparer:
    """Prepares arguments, keeping the compiled validators of the tools used last."""

    def __init__(self) -> None:
        self._validators = ValidatorCache()

    def prepare(self, tool: Tool, version: int, arguments: JsonObject) -> Prepared:
        """Coerce and validate arguments.

        A schema that can't be used leaves the tool callable: its arguments go unchecked, and say so.

        Args:
            tool: The tool.
            version: Of the catalog that the tool's definition is from.
            arguments: As the caller gave them; never changed.
        """
        try:
            validator = self._validators.get(tool.input_schema, key=(tool.key, version))
        except UnusableSchemaError as error:
            # What no server can be sent is none the less refused.
            return Prepared(arguments, _anything().validate(arguments), unvalidated=error.reason)
        coerced = coerce(arguments, validator)
        return Prepared(coerced.value, validator.validate(coerced.value), coerced.changes)
