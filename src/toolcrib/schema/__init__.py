"""Pure functions over JSON Schema: ids and aliases, validation, repair, signatures and examples."""

from toolcrib.schema.aliases import Aliases
from toolcrib.schema.coercion import Coerced, coerce
from toolcrib.schema.compiling import UnusableSchemaError
from toolcrib.schema.examples import example_call
from toolcrib.schema.ids import parameter_identifiers, server_ids, tool_ids
from toolcrib.schema.jsonvalues import is_object
from toolcrib.schema.problems import Problem, nearest
from toolcrib.schema.refs import declared
from toolcrib.schema.signatures import signature, type_name
from toolcrib.schema.text import first_sentence
from toolcrib.schema.unknown import UnknownServerError
from toolcrib.schema.validation import ValidationResult, Validator, ValidatorCache, compile_validator
from toolcrib.schema.wire import WireNames, wire_name

__all__ = [
    "Aliases",
    "Coerced",
    "Problem",
    "UnknownServerError",
    "UnusableSchemaError",
    "ValidationResult",
    "Validator",
    "ValidatorCache",
    "WireNames",
    "coerce",
    "compile_validator",
    "declared",
    "example_call",
    "first_sentence",
    "is_object",
    "nearest",
    "parameter_identifiers",
    "server_ids",
    "signature",
    "tool_ids",
    "type_name",
    "wire_name",
]
