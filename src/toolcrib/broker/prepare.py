"""Arguments made ready for a call: safe mismatches mended, the rest checked against the tool's own schema."""

from collections import OrderedDict
from typing import Any, cast

from toolcrib.broker.call import Prepared
from toolcrib.catalog import JsonObject, Tool
from toolcrib.errors import ToolcribError
from toolcrib.schema import UnusableSchemaError, ValidationResult, Validator, coerce, compile_validator

_COMPILED_TOOLS = 512


class InvalidArgumentsError(ToolcribError):
    """The arguments don't fit the tool's schema; nothing was sent.

    Args:
        tool: The tool, whose schema a face shows beside the problems.
        result: Every problem, with its path.
    """

    code = "arguments_invalid"

    def __init__(self, tool: Tool, result: ValidationResult) -> None:
        super().__init__(
            f"The arguments of {tool.id} are not valid: {result.error}",
            hint="Nothing was called; correct them and call again.",
        )
        self.tool = tool
        self.result = result

    def to_json(self) -> dict[str, object]:
        """As `ToolcribError.to_json`, with each problem by path."""
        problems = [{"path": each.path, "message": each.message} for each in self.result.errors]
        return {**super().to_json(), "tool": self.tool.id, "problems": problems}


class Preparer:
    """Prepares arguments, keeping the compiled validators of the tools used last."""

    def __init__(self) -> None:
        self._compiled: OrderedDict[str, tuple[JsonObject, Validator | str]] = OrderedDict()

    def prepare(self, tool: Tool, arguments: JsonObject) -> Prepared:
        """Coerce and validate arguments.

        A schema that can't be used leaves the tool callable: its arguments go unchecked, and say so.
        """
        validator = self._validator(tool)
        if isinstance(validator, str):
            return Prepared(arguments, ValidationResult.valid(), unvalidated=validator)
        result = validator.validate(arguments)
        if result.is_valid and not _foreign_names(tool, arguments):
            return Prepared(arguments, result)
        coerced = coerce(arguments, tool.input_schema)
        value: Any = coerced.value
        if not coerced.changes or not isinstance(value, dict):
            return Prepared(arguments, result)
        return Prepared(value, validator.validate(value), coerced.changes)

    def _validator(self, tool: Tool) -> Validator | str:
        kept = self._compiled.get(tool.id)
        if kept is not None and kept[0] is tool.definition:
            self._compiled.move_to_end(tool.id)
            return kept[1]
        validator: Validator | str
        try:
            validator = compile_validator(tool.input_schema)
        except UnusableSchemaError as error:
            validator = error.reason
        self._compiled[tool.id] = (tool.definition, validator)
        if len(self._compiled) > _COMPILED_TOOLS:
            self._compiled.popitem(last=False)
        return validator


def _foreign_names(tool: Tool, arguments: JsonObject) -> bool:
    """Whether an argument is none of the declared ones: it may be one under its identifier (`from_`)."""
    schema = tool.input_schema
    properties = cast("JsonObject", schema).get("properties") if isinstance(schema, dict) else None
    return isinstance(properties, dict) and not arguments.keys() <= cast("JsonObject", properties).keys()
