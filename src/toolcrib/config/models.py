"""The models of Toolcrib's own key, `toolcrib`, at the top of a configuration and in each server."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, model_validator

from toolcrib.config.http import HttpSettings, PrincipalSettings, Profile, RoleSettings
from toolcrib.config.objects import ObjectModel
from toolcrib.config.policy import PolicySettings
from toolcrib.patterns import PatternError, Replacer

Effect = Literal["read", "write", "destructive"]
"""What a tool does to the world: nothing, adds or changes, or removes and overwrites."""

Seconds = Annotated[float, Field(gt=0, le=86_400, strict=True, allow_inf_nan=False)]

Changes = Literal["warn", "ask", "block"]
"""What comes of a call of a tool that has changed."""

Label = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^\S+$")]
"""A word for a kind of data: where it comes from, or who may see it."""


def _redacting(pattern: str) -> str:
    try:
        Replacer(pattern)
    except PatternError as error:
        raise ValueError(f"the pattern can't be used: {error}") from None
    return pattern


class _Model(ObjectModel):
    model_config = ConfigDict(extra="allow")

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        # Unknown members are kept, but may hold anything, secrets too.
        for name, field in type(self).model_fields.items():
            if field.repr:
                yield name, getattr(self, name)

    def unknown(self) -> Iterator[str]:
        """Paths of the members that Toolcrib does not know."""
        yield from self.model_extra or {}
        for name in type(self).model_fields:
            member = getattr(self, name)
            if isinstance(member, _Model):
                yield from (f"{name}.{inner}" for inner in member.unknown())


class ServerOptions(_Model):
    """The `toolcrib` object of one server.

    Attributes:
        description: One line about the server, shown to the model beside its name.
        tags: Words under which the server's tools are found.
        trust: Whether the server's own words about itself, such as annotations, are believed.
        protocol: `modern` and `legacy` fix the protocol era; `auto` finds it out.
        start: `always` keeps the server running, `on_demand` starts it at its first use, `on_request` only
            when someone enables it.
        idle_stop: Seconds without a call after which the server is stopped; null never stops it.
        connection: `shared` lets all callers use one connection, on which no client capabilities are declared;
            `caller` gives each caller one of its own, and `run` each run of a script; `auto` gives one of its own to
            a caller whose client can be asked something, where the server needs that to ask and it costs little.
        allow: Globs over tool names; only what one of them fits is offered.
        deny: Globs over tool names that are never offered, whatever `allow` says.
        effects: Effect by a glob over tool names; the first that fits counts.
        labels: Labels of the data that come from this server, such as `private`, `untrusted`, `external`.
        tool_labels: More labels by a glob over tool names; of all globs that fit.
        timeout: Seconds that one call may take; null leaves it to `Settings.timeout`.
        start_timeout: Seconds until a starting server must have answered; null leaves it to
            `Settings.start_timeout`.
        changes: What comes of a call of a tool whose definition has changed since it was first used; null leaves
            it to `Settings.changes`.
        prefix: What stands before the names of directly exposed tools in place of the server's id.
    """

    description: str = ""
    tags: tuple[str, ...] = ()
    trust: Literal["untrusted", "trusted"] = "untrusted"
    protocol: Literal["auto", "modern", "legacy"] = "auto"
    start: Literal["always", "on_demand", "on_request"] = "on_demand"
    idle_stop: Seconds | None = 600.0
    connection: Literal["auto", "shared", "caller", "run"] = "auto"
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    effects: Mapping[str, Effect] = Field(default_factory=dict[str, Effect])
    labels: tuple[Label, ...] = ()
    tool_labels: Mapping[str, tuple[Label, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    timeout: Seconds | None = None
    start_timeout: Seconds | None = None
    changes: Changes | None = None
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{0,32}$")] | None = None


class SearchSettings(_Model):
    """The `search` object of the settings.

    Attributes:
        strategy: The searcher's name.
        embedder: What makes vectors for searching by meaning; `auto` takes the server at `embedder_url`, else
            the model that the extra `semantic` installs, if it is there.
        embedder_url: The base of an API with OpenAI's `/embeddings`, such as `http://localhost:11434/v1`.
        embedder_model: The model's name there or in fastembed; for the installed model, a file in its place.
        embedder_key_env: The environment variable that holds the key for `embedder_url`.
        embedder_patience: Seconds that a search waits for the embedder before it goes on without.
    """

    strategy: str = "keyword"
    embedder: Literal["auto", "minilm", "endpoint", "fastembed"] = "auto"
    embedder_url: str = ""
    embedder_model: str = ""
    embedder_key_env: str = ""
    embedder_patience: Seconds = 2.0


class DynamicSettings(_Model):
    """The `dynamic` object of the settings: what a model may turn on and off by itself.

    Attributes:
        enabled: Whether the model gets the tools that find, enable and disable servers.
        allow: Globs over names of registries (also as `name@version`) and keys of servers that are `disabled` in
            the configuration: what one of them fits, a model may enable. Servers that start on request need none.
    """

    enabled: Annotated[bool, Field(strict=True)] = False
    allow: tuple[str, ...] = ()


def _pointer(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError("must be a JSON Pointer, which begins with /")
    return text


class JournalSettings(_Model):
    """The `journal` object of the settings: the record of all calls.

    Attributes:
        enabled: Whether calls are recorded.
        sync: What a record of a call with effects survives: with `normal` the end of the process, with `full` also
            the loss of power.
        retention_days: Days after which a record is deleted; null keeps it.
        max_rows: Records beyond which the oldest are deleted; null keeps them all.
        arguments: `redacted` keeps the arguments without their secrets, `digest` only a keyed digest of them.
        redact: JSON Pointers of arguments that are not kept, where `*` stands for any member.
        result_days: Days for which the beginning of each result is kept; 0 keeps none, and so does `digest`.
    """

    enabled: Annotated[bool, Field(strict=True)] = True
    sync: Literal["normal", "full"] = "normal"
    retention_days: Annotated[float, Field(gt=0, le=36_500, strict=True, allow_inf_nan=False)] | None = 90.0
    max_rows: Annotated[int, Field(ge=1, strict=True)] | None = 1_000_000
    arguments: Literal["redacted", "digest"] = "redacted"
    redact: tuple[Annotated[str, AfterValidator(_pointer)], ...] = ()
    result_days: Annotated[float, Field(ge=0, le=36_500, strict=True, allow_inf_nan=False)] = 7.0


class ResultSettings(_Model):
    """The `results` object of the settings: how results are kept that are too large to be answered whole.

    Attributes:
        keep_seconds: How long one is kept.
        max_mb: Megabytes that all of them may take; the oldest go first.
        max_result_mb: Megabytes that a single one may have; a larger one is answered whole.
    """

    keep_seconds: Seconds = 3_600.0
    max_mb: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] = 512
    max_result_mb: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] = 64


class DataFlowSettings(_Model):
    """The `data_flow` object of the settings: what is remembered of what was read, to know it again in arguments.

    Attributes:
        fingerprints: Whether anything is; labels are collected in any case.
        caller_mb: Megabytes of memory for what one caller has read, of which a megabyte of text takes about three; the
            oldest results go first.
        max_mb: Megabytes of all callers together; those who were silent longest go first.
        idle_seconds: How long a caller may be silent before what it has read is forgotten, labels too.
    """

    fingerprints: Annotated[bool, Field(strict=True)] = True
    caller_mb: Annotated[int, Field(ge=1, le=10_000, strict=True)] = 64
    max_mb: Annotated[int, Field(ge=1, le=100_000, strict=True)] = 128
    idle_seconds: Seconds = 86_400.0


class ApprovalSettings(_Model):
    """The `approvals` object of the settings: what becomes of calls that the policy asks about.

    Attributes:
        inbox: Whether questions that nobody else can be asked wait for `toolcrib approve`; else they are refused.
        timeout: Seconds until a question counts as unanswered.
        patience: Seconds that one request waits; then it is told to come back.
        grants: Seconds that a grant holds which goes beyond one call.
    """

    inbox: Annotated[bool, Field(strict=True)] = True
    timeout: Seconds = 600.0
    patience: Seconds = 45.0
    grants: Seconds = 3600.0


class ScriptSettings(_Model):
    """The `scripts` object of the settings: what models may write scripts in, and what a run may use up.

    Attributes:
        enabled: Whether the model gets `run_code`.
        full_python: Whether scripts that need more of Python than the default dialect has run in CPython behind
            the kernel's walls (Linux).
        typescript: Whether scripts may be written in TypeScript and JavaScript (extra `typescript`).
        seconds: Seconds that a run may take of its own, calls not counted.
        total_seconds: Seconds that it may take in all.
        memory_mb: Megabytes of memory that it may take.
        calls: Calls that it may make.
        keep_seconds: How long the results of its calls are kept for a run that repeats it, and a run that waits
            for an approval may wait.
    """

    enabled: Annotated[bool, Field(strict=True)] = True
    full_python: Annotated[bool, Field(strict=True)] = False
    typescript: Annotated[bool, Field(strict=True)] = False
    seconds: Seconds = 10.0
    total_seconds: Seconds = 300.0
    memory_mb: Annotated[int, Field(ge=16, le=16_384, strict=True)] = 128
    calls: Annotated[int, Field(ge=1, le=100_000, strict=True)] = 500
    keep_seconds: Seconds = 86_400.0


class DirectSettings(_Model):
    """The `direct` object of the settings: how the gateway exposes tools directly, in the profiles `all` and `auto`.

    Attributes:
        auto_tokens: Tokens that all definitions together may have for the profile `auto` to expose them directly.
        result_budget: Bytes of JSON that a result of a tool that is exposed directly may have; a larger one is kept,
            and `read_result` is there to read it. Null lets every result pass whole.
    """

    auto_tokens: Annotated[int, Field(ge=0, le=10_000_000, strict=True)] = 10_000
    result_budget: Annotated[int, Field(ge=1_000, strict=True)] | None = None


class PriceSettings(_Model):
    """What a model's tokens cost, by the million, in any one currency.

    Attributes:
        input: Of requests.
        output: Of answers.
        cached_input: Of requests, what came out of the vendor's cache; null where that is not cheaper.
        cache_write: Of requests, what went into the cache; null where that costs nothing more.
    """

    input: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    cached_input: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    cache_write: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class SmallModelSettings(_Model):
    """The `small_model` object of the settings, for which a text stands that is its `model`: a language model for small
    chores.

    Attributes:
        model: `provider:model`; empty for none.
        key: The vendor's key, which may hold `${...}`; empty takes the vendor's environment variable.
        base_url: Where the API is, which may hold `${...}`; empty for the vendor's own.
        timeout: Seconds that one answer may take.
    """

    model: Annotated[str, Field(pattern=r"^(\S+:\S+)?$")] = ""
    key: Annotated[str, Field(repr=False)] = ""
    base_url: str = ""
    timeout: Seconds = 20.0

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: object) -> object:
        return {"model": value} if isinstance(value, str) else value


class Settings(_Model):
    """The `toolcrib` object at the top of a configuration.

    Attributes:
        timeout: Seconds that one call may take, where its server says nothing else.
        start_timeout: Seconds until a starting server must have answered, where it says nothing else.
        max_parallel_starts: Servers that may be starting at the same time.
        max_running: Server processes that may run at the same time; one more stops the one used least recently.
        max_memory_mb: Megabytes that all server processes together may take before idle ones are stopped; null
            sets no bound.
        first_listing_wait: Seconds that a search waits for servers that were never listed before.
        profile: What the gateway shows: `discover` the few tools that lead to all others, `all` every tool directly,
            `auto` one of the two by the size of all definitions, settled when it starts.
        direct: How tools are exposed directly.
        search: How tools are found.
        registries: Where servers can be found that are not configured: URLs of registries that speak the MCP
            registry API, and paths of files or folders of `server.json` documents.
        dynamic: What a model may turn on and off.
        result_budget: Bytes of JSON that one result may have for a model, images and sounds aside; a larger one is
            kept, and answered with its shape and beginning. Null sets no bound. The default stays
            below 10,000 tokens, where Claude Code begins to warn, also where a token has only 3.2 bytes.
        results: How such results are kept.
        data_flow: What is remembered of what was read.
        policy: Which calls are allowed, asked about or denied.
        approvals: What becomes of calls that are asked about.
        split_by_effect: Whether the model also gets `read_tool`, which calls only tools that are known to read.
        resources: Whether the model also gets tools that list and read the servers' resources.
        scripts: What models may write scripts in.
        skills: Folders of skills, or of a skill each: they are found by searches, and read.
        prices: What tokens cost, by the model's name or by `provider:model`.
        small_model: A model that chooses among hits for searches, and extracts for scripts.
        servers_description: Tokens that the servers' names and descriptions may take in the description of
            `search_tools`.
        store: The database that instances share: the URL of a PostgreSQL database, which may hold `${...}`; empty
            for SQLite in the state directory.
        journal: The record of all calls.
        changes: What comes of a call of a tool whose definition has changed since it was first used: it is warned
            of, asked about or blocked.
        redact: Regular expressions: what one of them matches is secret, and shown and stored nowhere.
        http: How the gateway serves over HTTP, and whom it lets in.
        principals: What each principal may know of and use, by name; `*` is whoever has no entry, the local user aside.
        roles: What holders of a role may know of and use, by the role's name.
    """

    timeout: Seconds = 60.0
    start_timeout: Seconds = 30.0
    max_parallel_starts: Annotated[int, Field(ge=1, le=256, strict=True)] = 4
    max_running: Annotated[int, Field(ge=1, le=10_000, strict=True)] = 24
    max_memory_mb: Annotated[int, Field(ge=1, strict=True)] | None = None
    first_listing_wait: Annotated[float, Field(ge=0, le=600, strict=True, allow_inf_nan=False)] = 5.0
    profile: Profile = "discover"
    direct: DirectSettings = DirectSettings()
    search: SearchSettings = SearchSettings()
    registries: tuple[str, ...] = ()
    dynamic: DynamicSettings = DynamicSettings()
    result_budget: Annotated[int, Field(ge=1_000, strict=True)] | None = 32_000
    results: ResultSettings = ResultSettings()
    data_flow: DataFlowSettings = DataFlowSettings()
    policy: PolicySettings = PolicySettings()
    approvals: ApprovalSettings = ApprovalSettings()
    split_by_effect: Annotated[bool, Field(strict=True)] = False
    resources: Annotated[bool, Field(strict=True)] = False
    scripts: ScriptSettings = ScriptSettings()
    skills: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    small_model: SmallModelSettings = SmallModelSettings()
    prices: Mapping[str, PriceSettings] = {}
    servers_description: Annotated[int, Field(ge=0, le=10_000, strict=True)] = 300
    store: Annotated[str, Field(repr=False)] = ""
    journal: JournalSettings = JournalSettings()
    changes: Changes = "warn"
    redact: tuple[Annotated[str, AfterValidator(_redacting)], ...] = ()
    http: HttpSettings = HttpSettings()
    principals: Mapping[str, PrincipalSettings] = Field(default_factory=dict[str, PrincipalSettings])
    roles: Mapping[str, RoleSettings] = Field(default_factory=dict[str, RoleSettings])


def problems(error: ValidationError) -> list[str]:
    """One line a problem, with its path and without the value that caused it."""
    lines: list[str] = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        path = "".join(f".{part}" for part in problem["loc"])
        text = problem["msg"].removeprefix("Value error, ")
        lines.append(f"toolcrib{path}: {text[:1].lower()}{text[1:]}")
    return lines
