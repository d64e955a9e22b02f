"""Python functions as a source: their signatures become tools beside those of MCP servers."""

import inspect
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

import anyio
from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError, validate_call
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic_core import to_jsonable_python

from toolcrib.catalog import NO_CONTEXT, JsonObject, ListMethod, RequestContext, RequestMethod
from toolcrib.errors import CallTimeoutError, ProtocolError, UsageError

_INVALID_PARAMS = -32602
_METHOD_NOT_FOUND = -32601


class LocalFunctions:
    """A source whose tools are Python functions.

    A tool's name is the function's, its description the docstring, its schema made from the annotations. A
    coroutine function is awaited; any other runs in a worker thread. What a function raises becomes a result
    marked as an error, with the exception's text.

    Args:
        source_id: The id that heads the tool ids.
        description: One line about the functions together.
    """

    def __init__(self, source_id: str = "local", description: str = "") -> None:
        self.id = source_id
        self.description = description
        self._functions: dict[str, Callable[..., Any]] = {}
        self._definitions: dict[str, JsonObject] = {}

    @property
    def definitions(self) -> list[JsonObject]:
        """The definitions of all functions, in the order in which they were added."""
        return list(self._definitions.values())

    def add(self, function: Callable[..., Any]) -> None:
        """Add a function, in place of one of the same name.

        Raises:
            UsageError: Its parameters can't be described by a schema: an annotation that is no data, or a
                parameter that can only be given by position.
        """
        name = getattr(function, "__name__", "")
        if not name or name == "<lambda>":
            raise UsageError("A function needs a name to become a tool.", hint="Define it with def.")
        self._definitions[name] = _definition(name, function)
        self._functions[name] = validate_call(function)

    async def ensure(self, context: RequestContext = NO_CONTEXT) -> None:
        """Nothing to do: functions are always there."""

    def offers(self, capability: str) -> bool:
        """Whether it offers what a capability stands for: tools alone."""
        return capability == "tools"

    async def list(self, method: ListMethod, context: RequestContext = NO_CONTEXT) -> list[JsonObject]:
        """The definitions for `tools/list`; nothing for the other lists."""
        return self.definitions if method == "tools/list" else []

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        """Call a function; see `Source.request`.

        Raises:
            ProtocolError: There is no such function, or the request is no tool call.
            CallTimeoutError: A coroutine function took too long; one in a thread is waited for.
        """
        if method != "tools/call":
            raise ProtocolError(self.id, f"{method} is not offered", rpc_code=_METHOD_NOT_FOUND)
        function = self._functions.get(str(params.get("name")))
        if function is None:
            raise ProtocolError(self.id, f"unknown tool {params.get('name')}", rpc_code=_INVALID_PARAMS)
        arguments = cast("JsonObject", params.get("arguments") or {})
        try:
            with anyio.fail_after(context.timeout):
                value = await _run(function, arguments)
        except TimeoutError:
            if context.timeout is None:
                raise
            raise CallTimeoutError(self.id, f"{params['name']} took longer than {context.timeout:g} s.") from None
        except ValidationError as error:
            return _text(_problems(error), is_error=True)
        except Exception as error:  # whatever a user's function raises is the tool's own error
            return _text(f"{type(error).__name__}: {error}", is_error=True)
        return _result(value)


async def _run(function: Callable[..., Any], arguments: JsonObject) -> Any:
    if inspect.iscoroutinefunction(inspect.unwrap(function)):
        return await cast("Callable[..., Awaitable[Any]]", function)(**arguments)
    return await anyio.to_thread.run_sync(partial(function, **arguments))


def _definition(name: str, function: Callable[..., Any]) -> JsonObject:
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL}:
            raise UsageError(
                f"{name} takes {parameter.name} by position only, so it can't be called by name.",
                hint="Make every parameter a named one.",
            )
    try:
        schema = TypeAdapter(cast("Any", function)).json_schema()
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema) as error:
        raise UsageError(
            f"The parameters of {name} can't be described: {str(error).splitlines()[0]}",
            hint="Annotate them with data types, such as str, int, list or a pydantic model.",
        ) from error
    definition: JsonObject = {"name": name, "inputSchema": {"type": "object", **schema}}
    if documentation := inspect.getdoc(function):
        definition["description"] = documentation
    output = _output_schema(function)
    if output is not None:
        definition["outputSchema"] = output
    return definition


def _output_schema(function: Callable[..., Any]) -> JsonObject | None:
    """The schema of the return annotation where it is an object; None where there is none or it is no data."""
    returned = inspect.signature(function, eval_str=True).return_annotation
    if returned is inspect.Signature.empty or returned is None:
        return None
    try:
        schema = TypeAdapter[Any](returned).json_schema(mode="serialization")
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema):
        return None
    return schema if schema.get("type") == "object" else None


def _result(value: Any) -> JsonObject:
    plain = to_jsonable_python(value, fallback=str)
    if isinstance(plain, str):
        return _text(plain)
    result = _text("" if plain is None else json.dumps(plain, ensure_ascii=False))
    if isinstance(plain, dict):
        result["structuredContent"] = plain
    return result


def _text(text: str, *, is_error: bool = False) -> JsonObject:
    result: JsonObject = {"content": [{"type": "text", "text": text}]}
    if is_error:
        result["isError"] = True
    return result


def _problems(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
