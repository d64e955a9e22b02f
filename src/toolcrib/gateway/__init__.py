"""The MCP server that stands for all servers of a crib, over stdio and Streamable HTTP."""

from toolcrib.gateway.gateway import Gateway
from toolcrib.gateway.http import (
    DEFAULT_HOST,
    DEFAULT_PATH,
    DEFAULT_PORT,
    Beside,
    HttpOptions,
    http_app,
    is_loopback,
    run_http,
    serve_http,
)
from toolcrib.gateway.stdio import run_stdio, serve_stdio

__all__ = [
    "DEFAULT_HOST",
    "DEFAULT_PATH",
    "DEFAULT_PORT",
    "Beside",
    "Gateway",
    "HttpOptions",
    "http_app",
    "is_loopback",
    "run_http",
    "run_stdio",
    "serve_http",
    "serve_stdio",
]
