"""An authorization server and a protected MCP server on loopback: RFC 9728, 8414, 7591, 6749 with PKCE, 9207.

It grants whatever it is asked for without asking back, so that a test can be the browser by following redirects.
"""

import base64
import hashlib
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route


class Authority:
    """Both servers, with switches for what they do and a record of what they were asked.

    Attributes:
        lifetime: Seconds that an access token lives; None says nothing of it.
        refresh: Whether refresh tokens are given, and used.
        refusal: What the token endpoint answers a renewal with instead: status and error code.
        denies: Whether a login is refused.
        open_listing: Whether anybody may list the tools.
        protects: Whether anything is said of a login.
        older: Whether that is left to what the protocol's revision 2025-03-26 says, without RFC 9728.
        metadata: What the authorization server's metadata has beside or in place of the usual.
        moved_to: Where the MCP server redirects to.
        granted: Scopes by access token, of those that count.
        requests: What the MCP server was asked: method of MCP and token.
        renewals: How many renewals were asked for.
        registered: The clients, by id.
        authorizations: The parameters of each login.
        secret_values: Everything that must never be shown.
    """

    def __init__(self, app: Starlette | None = None, path: str = "/mcp") -> None:
        self.url = ""
        self.path = path
        self.older = False
        self.lifetime: int | None = 3600
        self.refresh = True
        self.refusal: tuple[int, str] | None = None
        self.denies = False
        self.open_listing = False
        self.protects = True
        self.metadata: dict[str, Any] = {}
        self.moved_to = ""
        self.granted: dict[str, str] = {}
        self.requests: list[tuple[str, str]] = []
        self.renewals = 0
        self.registered: dict[str, dict[str, Any]] = {}
        self.authorizations: list[dict[str, str]] = []
        self.secret_values: set[str] = set()
        self._codes: dict[str, dict[str, str]] = {}
        self._refreshing: dict[str, tuple[str, str]] = {}
        self._mcp = app or _notes_server().streamable_http_app(stateless_http=True, json_response=True)

    @property
    def entry(self) -> dict[str, Any]:
        """The MCP server's entry in a configuration."""
        return {"type": "sse" if self.path == "/sse" else "http", "url": f"{self.url}{self.path}"}

    @property
    def methods(self) -> list[str]:
        """The methods that the MCP server was asked for."""
        return [method for method, _ in self.requests]

    def revoke(self) -> None:
        """Let no access token count any more."""
        self.granted.clear()

    def app(self) -> Starlette:
        """The application of both."""
        return Starlette(
            routes=[
                Route(f"/.well-known/oauth-protected-resource{self.path}", self._resource),
                Route("/.well-known/oauth-authorization-server", self._metadata),
                Route("/register", self._register, methods=["POST"]),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Mount("/", self._protected),
            ],
            lifespan=self._mcp.router.lifespan_context,
        )

    async def _protected(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        method = request.headers.get("mcp-method", request.method)
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.requests.append((method, token))
        await (self._refused(request, method, token) or self._mcp)(scope, receive, send)

    def _refused(self, request: Request, method: str, token: str) -> Response | None:
        if self.moved_to:
            return RedirectResponse(self.moved_to, status_code=307)
        if self.open_listing and method in {"server/discover", "tools/list"}:
            return None
        place = f'resource_metadata="{self.url}/.well-known/oauth-protected-resource{self.path}"'
        if token not in self.granted:
            challenge = "Basic" if not self.protects else "Bearer" if self.older else f"Bearer {place}"
            return Response(status_code=401, headers={"WWW-Authenticate": challenge})
        if request.headers.get("mcp-name") == "drop" and "admin" not in self.granted[token].split():
            challenge = f'Bearer error="insufficient_scope", scope="admin", {place}'
            return Response(status_code=403, headers={"WWW-Authenticate": challenge})
        return None

    async def _resource(self, _: Request) -> Response:
        if not self.protects or self.older:
            return Response(status_code=404)
        found = {
            "resource": f"{self.url}{self.path}",
            "authorization_servers": [self.url],
            "scopes_supported": ["notes"],
        }
        return JSONResponse(found)

    async def _metadata(self, _: Request) -> Response:
        if not self.protects:
            return Response(status_code=404)
        found = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        return JSONResponse({name: value for name, value in {**found, **self.metadata}.items() if value is not None})

    async def _register(self, request: Request) -> Response:
        if not self.protects:
            return Response(status_code=404)
        client = {**await request.json(), "client_id": f"client-{len(self.registered)}"}
        self.registered[client["client_id"]] = client
        return JSONResponse(client, status_code=201)

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        self.authorizations.append(asked)
        client = self.registered[asked["client_id"]]
        assert asked["redirect_uri"] in client["redirect_uris"]
        assert asked["resource"] == f"{self.url}{self.path}"
        answer = {"state": asked["state"], "iss": self.url}
        if self.denies:
            answer["error"] = "access_denied"
        else:
            answer["code"] = self._secret("code")
            self._codes[answer["code"]] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(answer)}", status_code=302)

    async def _token(self, request: Request) -> Response:
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        assert form["resource"] == f"{self.url}{self.path}"
        if form["grant_type"] == "refresh_token":
            return self._renewed(form)
        asked = self._codes.pop(form["code"])
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        assert asked["code_challenge"] == base64.urlsafe_b64encode(digest).decode().rstrip("=")
        assert (form["client_id"], form["redirect_uri"]) == (asked["client_id"], asked["redirect_uri"])
        secret = self.registered[form["client_id"]].get("client_secret")
        if secret is not None:
            basic = base64.b64encode(f"{form['client_id']}:{secret}".encode()).decode()
            assert request.headers["authorization"] == f"Basic {basic}"
        return self._granted(form["client_id"], asked.get("scope", ""))

    def _renewed(self, form: dict[str, str]) -> Response:
        self.renewals += 1
        if self.refusal is not None:
            status, code = self.refusal
            return JSONResponse({"error": code, "error_description": form["refresh_token"]}, status_code=status)
        client, scope = self._refreshing.pop(form["refresh_token"], ("", ""))
        if client != form["client_id"]:
            # RFC 9700, 4.14.2: a refresh token that was used already is taken for stolen, and ends the login.
            self.granted.clear()
            self._refreshing.clear()
            return JSONResponse({"error": "invalid_grant"}, status_code=400)
        return self._granted(client, scope)

    def _granted(self, client: str, scope: str) -> Response:
        access = self._secret("access")
        self.granted[access] = scope
        answer: dict[str, Any] = {"access_token": access, "token_type": "bearer", "scope": scope}
        if self.lifetime is not None:
            answer["expires_in"] = self.lifetime
        if self.refresh:
            answer["refresh_token"] = self._secret("refresh")
            self._refreshing[answer["refresh_token"]] = (client, scope)
        return JSONResponse(answer)

    def _secret(self, kind: str) -> str:
        value = f"{kind}-{secrets.token_hex(12)}"
        self.secret_values.add(value)
        return value


def _notes_server() -> Server[Any]:
    names = ("read", "drop")

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name=each, input_schema={"type": "object"}) for each in names])

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text=f"{params.name}: done")])

    return Server("notes", on_list_tools=list_tools, on_call_tool=call_tool)


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """An ASGI application on a free port of the loopback address, in a thread; gives the base URL."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        config = uvicorn.Config(app, log_level="critical", ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
