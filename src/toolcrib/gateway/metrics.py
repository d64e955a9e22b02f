"""Metrics in the format of Prometheus. Labels hold ids of servers and fixed words, nothing that anybody sends."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from toolcrib import __version__
from toolcrib.broker import Asked, Options, Outcome, Proceed
from toolcrib.errors import ServerError, ToolcribError

if TYPE_CHECKING:
    from toolcrib.crib import Crib

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_MOST_SERVERS = 1_000
_NO_SERVER = "none"
_OTHER_SERVER = "other"


class Metrics:
    """Counts what goes through a crib and its HTTP server.

    Args:
        crib: The crib; it has to be told to be observed.
    """

    def __init__(self, crib: "Crib") -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._calls = Counter(
            "toolcrib_requests",
            "Requests to servers by how they ended.",
            ["server", "outcome"],
            registry=self._registry,
        )
        self._call_seconds = Histogram(
            "toolcrib_request_seconds",
            "How long requests to servers took, waiting for approvals included.",
            ["server"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._under_way = Gauge(
            "toolcrib_requests_under_way", "Requests to servers that have not ended.", registry=self._registry
        )
        self._search_seconds = Histogram(
            "toolcrib_search_seconds", "How long searches took.", buckets=_SECONDS, registry=self._registry
        )
        self._answers = Counter(
            "toolcrib_http_responses", "HTTP responses by status.", ["status"], registry=self._registry
        )
        self._open = Gauge("toolcrib_http_requests_open", "HTTP requests that are open.", registry=self._registry)
        self._servers: set[str] = set()
        self._registry.register(_State(crib))

    async def around(self, asked: Asked, options: Options, proceed: Proceed) -> Outcome:
        """See `Observer.around`."""
        begun = time.perf_counter()
        server, ending = _NO_SERVER, "cancelled"
        self._under_way.inc()
        try:
            outcome = await proceed(options)
            server, ending = outcome.call.source, outcome.kind
            return outcome
        except ToolcribError as error:
            ending = error.code
            if isinstance(error, ServerError):
                server = error.server
            raise
        except Exception:
            ending = "internal"
            raise
        finally:
            self._under_way.dec()
            server = self._known(server)
            self._calls.labels(server, ending).inc()
            self._call_seconds.labels(server).observe(time.perf_counter() - begun)

    def searched(self, seconds: float) -> None:
        """See `Observer.searched`."""
        self._search_seconds.observe(seconds)

    def opened(self) -> None:
        """An HTTP request has begun."""
        self._open.inc()

    def closed(self, status: int) -> None:
        """It has ended, with this status; 0 where there was none."""
        self._open.dec()
        self._answers.labels(str(status)).inc()

    def text(self) -> bytes:
        """All figures, as Prometheus reads them."""
        return generate_latest(self._registry)

    def _known(self, server: str) -> str:
        """A server's id as a label; beyond a bound they are one."""
        if server not in self._servers:
            if len(self._servers) >= _MOST_SERVERS:
                return _OTHER_SERVER
            self._servers.add(server)
        return server


class _State(Collector):
    """What is looked up when somebody asks: the version, and how many servers are in which state."""

    def __init__(self, crib: "Crib") -> None:
        self._crib = crib

    def collect(self) -> Iterator[Metric]:
        """The figures of this moment."""
        version = GaugeMetricFamily("toolcrib_info", "The version that runs.", labels=["version"])
        version.add_metric([__version__], 1)
        yield version
        states = GaugeMetricFamily("toolcrib_servers", "Configured servers by state.", labels=["state"])
        counts: dict[str, int] = {}
        connections = 0
        for each in self._crib.servers:
            counts[each.state] = counts.get(each.state, 0) + 1
            connections += each.connections
        for state, count in counts.items():
            states.add_metric([state], count)
        yield states
        yield GaugeMetricFamily("toolcrib_server_connections", "Connections to servers.", value=connections)
