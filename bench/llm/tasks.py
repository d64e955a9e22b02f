"""Two hundred tools of twenty invented servers, and what a small model is asked to do with them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolcrib import Crib
from toolcrib.catalog import NO_CONTEXT, JsonObject, ListMethod, RequestContext, RequestMethod

_TOOLS = Path(__file__).resolve().parent.parent / "data" / "tools.txt"
_TYPES = {"int": "integer", "num": "number", "bool": "boolean"}


@dataclass(frozen=True)
class Task:
    """What is asked for, and the call that does it.

    Attributes:
        text: The user's words.
        tool: The id of the tool that does it.
        arguments: What it must be called with; each value may be one of several spellings, compared without case.
        answer: What the tool answers.
    """

    text: str
    tool: str
    arguments: Mapping[str, tuple[Any, ...]]
    answer: str

    def fits(self, tool: str, given: JsonObject) -> bool:
        """Whether a call does what was asked for."""
        return tool == self.tool and all(
            any(_plain(given.get(name)) == _plain(each) for each in values) for name, values in self.arguments.items()
        )


TASKS = (
    Task(
        "What's the weather like in Paris right now?",
        "weather.current",
        {"city": ("Paris", "Paris, France")},
        "18 degrees, light rain, wind from the west",
    ),
    Task(
        "Put the file /tmp/report.pdf into the bucket backups under the key 2026/report.pdf.",
        "aws.s3_upload",
        {"bucket": ("backups",), "key": ("2026/report.pdf",), "path": ("/tmp/report.pdf",)},
        "uploaded, 48,211 bytes",
    ),
    Task(
        "We need more capacity: run 5 replicas of the deployment web.",
        "k8s.scale_deployment",
        {"deployment": ("web",), "replicas": (5,)},
        "deployment web scaled from 2 to 5",
    ),
    Task(
        "Tell the channel #general: lunch is ready",
        "slack.post_message",
        {"channel": ("general",), "text": ("lunch is ready",)},
        "posted",
    ),
    Task(
        "Please translate 'good morning' into French.",
        "text.translate",
        {"text": ("good morning",), "target_language": ("French", "fr", "fr-FR")},
        "bonjour",
    ),
    Task("Give the customer the money of charge ch_42 back.", "stripe.refund_charge", {"charge_id": ("ch_42",)}, "ok"),
    Task(
        "Ticket OPS-7 should be done by maria, please assign it.",
        "jira.assign_ticket",
        {"ticket": ("OPS-7",), "user": ("maria",)},
        "OPS-7 is assigned to maria",
    ),
    Task(
        "What is the exchange rate from USD to EUR?",
        "finance.exchange_rate",
        {"base": ("USD",), "quote": ("EUR",)},
        "1 USD = 0.91 EUR",
    ),
    Task("Set the heating to 21 degrees.", "home.set_thermostat", {"celsius": (21,)}, "set to 21"),
    Task("Stop the virtual machine i-123.", "aws.stop_instance", {"instance_id": ("i-123",)}, "stopping"),
)


@dataclass
class Invented:
    """A server whose tools answer what the tasks say."""

    id: str
    tools: list[JsonObject] = field(default_factory=list[JsonObject])
    description: str = ""

    async def ensure(self, context: RequestContext = NO_CONTEXT) -> None:
        """Nothing is to be connected."""

    async def list(self, method: ListMethod, context: RequestContext = NO_CONTEXT) -> list[JsonObject]:
        """Its tools."""
        return self.tools if method == "tools/list" else []

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        """What the task says that the tool answers."""
        tool = f"{self.id}.{params['name']}"
        answer = next((task.answer for task in TASKS if task.tool == tool), "done")
        return {"content": [{"type": "text", "text": answer}]}


async def fill(crib: Crib) -> int:
    """Put the invented servers into a crib; the number of their tools."""
    servers: dict[str, Invented] = {}
    lines = _TOOLS.read_text(encoding="utf-8").splitlines()
    for line in lines:
        name, about, parameters = line.split("|")
        server, tool = name.split(".")
        definition = {"name": tool, "description": about, "inputSchema": _schema(parameters)}
        servers.setdefault(server, Invented(server)).tools.append(definition)
    for source in servers.values():
        await crib.add_source(source)
    return len(lines)


def _schema(written: str) -> JsonObject:
    """A schema from words such as `path limit:int? labels[]`: a type or choices, a list, and whether it may lack."""
    properties: JsonObject = {}
    required: list[str] = []
    for word in written.split():
        name, _, kind = word.removesuffix("?").partition(":")
        if not word.endswith("?"):
            required.append(name.removesuffix("[]"))
        if name.endswith("[]"):
            properties[name[:-2]] = {"type": "array", "items": {"type": "string"}}
        elif "/" in kind:
            properties[name] = {"type": "string", "enum": kind.split("/")}
        else:
            properties[name] = {"type": _TYPES.get(kind, "string")}
    return {"type": "object", "properties": properties, "required": required}


def _plain(value: Any) -> Any:
    return value.strip().lstrip("#").rstrip(".").casefold() if isinstance(value, str) else value
