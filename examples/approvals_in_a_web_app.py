"""Approvals in a web application of your own: calls that the policy asks about wait until somebody decides there.

The application holds the crib; its pages list what waits in the inbox, and answer it. Here a small client plays the
person, and a call of a tool stands for what an agent wants. A real application signs people in before it shows or takes
anything. Run it with: python examples/approvals_in_a_web_app.py
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from tempfile import TemporaryDirectory

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from toolcrib import Crib, Grant, ToolcribError, text_of
from toolcrib.events import ApprovalChanged

RULES = [{"name": "careful", "tools": ["shop.order"], "then": "ask", "reason": "money is spent"}]
CONFIG = {"mcpServers": {}, "toolcrib": {"policy": {"rules": RULES}}}


def order(what: str, pieces: int) -> str:
    """Order something."""
    return f"ordered: {pieces} x {what}"


async def waiting(request: Request) -> JSONResponse:
    """What waits, oldest first."""
    crib: Crib = request.app.state.crib
    rows = [{"id": each.id, "tool": each.tool, "text": each.question} for each in await crib.approvals.list()]
    return JSONResponse(rows)


async def decide(request: Request) -> JSONResponse:
    """Answer one: `{"approved": true}`, with `"for": "tool"` for all calls of the tool that its caller makes."""
    crib: Crib = request.app.state.crib
    body = await request.json()
    grant = Grant("tool") if body.get("for") == "tool" else None
    try:
        await crib.approvals.decide(request.path_params["id"], body.get("approved") is True, grant=grant, by="web")
    except ToolcribError as error:  # such as one that was decided already
        return JSONResponse(error.to_json(), 409)
    return JSONResponse({"decided": True})


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    """Hold the crib as long as the application runs."""
    with TemporaryDirectory() as folder:
        async with Crib.open(CONFIG, state_dir=folder) as crib:
            crib.add_functions(order, server="shop")
            app.state.crib = crib
            yield


app = Starlette(
    routes=[Route("/approvals", waiting), Route("/approvals/{id}", decide, methods=["POST"])], lifespan=lifespan
)


async def asked(crib: Crib, person: httpx2.AsyncClient, what: str, **answer: object) -> None:
    """Make a call, and let a person answer what it asks on the page."""
    with crib.events.subscribe() as events:
        call = asyncio.create_task(crib.call("shop.order", {"what": what, "pieces": 2}))
        async for event in events:
            if isinstance(event, ApprovalChanged) and event.status == "waiting":
                break
    [row] = (await person.get("/approvals")).json()
    print(row["text"].splitlines()[0])
    answered = await person.post(f"/approvals/{row['id']}", json=answer)
    again = await person.post(f"/approvals/{row['id']}", json=answer)
    print(f"answered: {answered.status_code}, and once more: {again.status_code}")
    try:
        print(text_of((await call).result))
    except ToolcribError as error:
        print(error.message)


async def main() -> None:
    transport = httpx2.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://app") as person,
    ):
        crib: Crib = app.state.crib
        await asked(crib, person, "chairs", approved=False)
        await asked(crib, person, "tables", approved=True, **{"for": "tool"})
        # Granted for the tool: nobody is asked any more.
        print(text_of((await crib.call("shop.order", {"what": "lamps", "pieces": 1})).result))


if __name__ == "__main__":
    asyncio.run(main())
