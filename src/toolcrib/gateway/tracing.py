"""OpenTelemetry traces: a span for each request to a server, in the trace of whoever asked.

The API alone does nothing; spans go somewhere only where the extra `telemetry` is installed and the standard `OTEL_*`
variables say where to.
"""

import logging
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolcrib.broker import Asked, Options, Outcome, Proceed
from toolcrib.errors import ServerError, ToolcribError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from opentelemetry.trace import Tracer

    from toolcrib.crib import Crib

logger = logging.getLogger(__name__)

_TRACE_CONTEXT = ("traceparent", "tracestate", "baggage")
"""Members of `_meta` that carry W3C trace context (specification 2026-07-28, SEP-414), and headers that do."""

_MOST_CHARACTERS = 8_192
"""Of one of them: W3C Baggage, limits."""

_NAMED = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER")


def trace_context(ctx: "ServerRequestContext[Any, Any]", meta: Mapping[str, Any]) -> dict[str, Any]:
    """The trace that a request belongs to, by its `_meta`, else by its HTTP headers."""
    found = {name: meta[name] for name in _TRACE_CONTEXT if name in meta}
    if not found and ctx.request is not None:
        headers: Mapping[str, str] = ctx.request.headers
        found = {
            name: headers[name]
            for name in _TRACE_CONTEXT
            if len(headers.get(name, "")) <= _MOST_CHARACTERS and name in headers
        }
    return found


class Traces:
    """Makes a span of each request to a server: its tool, its server, how it ended, and nothing of its arguments.

    Args:
        tracer: Makes spans; None takes that of the program's tracer provider.
    """

    def __init__(self, tracer: "Tracer | None" = None) -> None:
        from opentelemetry import trace

        self._tracer = tracer or trace.get_tracer("toolcrib")

    async def around(self, asked: Asked, options: Options, proceed: Proceed) -> Outcome:
        """See `Observer.around`."""
        from opentelemetry import propagate, trace

        # A server's message has a span of the SDK's already, in the trace that its `_meta` names.
        parent = None if trace.get_current_span().get_span_context().is_valid else propagate.extract(options.meta)
        with self._tracer.start_as_current_span(
            asked.method, context=parent, record_exception=False, set_status_on_exception=False
        ) as span:
            meta = dict(options.meta)
            propagate.inject(meta)
            ending = "cancelled"
            try:
                outcome = await proceed(replace(options, meta=meta))
                ending = outcome.kind
                call = outcome.call
                span.update_name(f"{asked.method} {call.target}")
                span.set_attributes({"toolcrib.server": call.source, "toolcrib.tool": call.target})
                span.set_attribute("toolcrib.effect", call.effect)
                return outcome
            except ToolcribError as error:
                ending = error.code
                if isinstance(error, ServerError):
                    span.set_attribute("toolcrib.server", error.server)
                raise
            except Exception:
                ending = "internal"
                raise
            finally:
                span.set_attribute("toolcrib.outcome", ending)
                if ending not in {"result", "input_required"}:
                    span.set_attribute("error.type", ending)
                    span.set_status(trace.StatusCode.ERROR)

    def searched(self, seconds: float) -> None:
        """See `Observer.searched`; a search is no request to a server."""


@contextmanager
def traced(crib: "Crib", environment: Mapping[str, str] = os.environ) -> Generator[None]:
    """Send traces of a crib while the block runs, where the environment says so; what was not sent yet is, at its end.

    Args:
        crib: The crib.
        environment: The standard `OTEL_*` variables.
    """
    if not _is_wanted(environment):
        yield
        return
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        logger.warning("OTEL_* variables are set, but nothing is traced: the extra `telemetry` is not installed.")
        yield
        return
    named = {} if environment.get("OTEL_SERVICE_NAME") else {"service.name": "toolcrib"}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    crib.observers.append(Traces())
    try:
        yield
    finally:
        provider.shutdown()


def _is_wanted(environment: Mapping[str, str]) -> bool:
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true" or environment.get("OTEL_TRACES_EXPORTER") == "none":
        return False
    return any(environment.get(name) for name in _NAMED)
