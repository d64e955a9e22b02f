"""The `policy` object of the settings: rules that decide which calls are allowed, asked about or denied.

A rule with a mistyped condition would decide more than was meant, so unknown members are errors here.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from toolcrib.config.objects import Strict
from toolcrib.patterns import PatternError, compile_pattern

Verdict = Literal["allow", "ask", "deny"]

_Text = Annotated[str, Field(min_length=1, max_length=1_000, strict=True)]
_Texts = Annotated[tuple[_Text, ...], Field(min_length=1)]
_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
_Flag = Annotated[bool, Field(strict=True)]
_Effect = Literal["read", "write", "destructive", "unknown"]
_Source = Literal["direct", "script", "console"]
_Face = Literal["library", "stdio", "http", "cli"]

_OPERATORS = ("equals", "one_of", "pattern", "minimum", "maximum", "exists")


class ArgumentTest(Strict):
    """What one argument of a call must be; of several members, all must hold. A value that is not there, or of
    another kind than a member is about, does not hold.

    Attributes:
        at: Where the value stands in the arguments, as a JSON Pointer (RFC 6901); empty for all arguments together.
        equals: The value, as JSON; `1` and `1.0` are the same number.
        one_of: Values of which it is one.
        pattern: A regular expression that matches somewhere in a text, in Rust's `regex` syntax.
        minimum: The least that a number may be.
        maximum: The most that a number may be.
        exists: Whether it must be there, or must not.
    """

    at: Annotated[str, Field(max_length=1_000, strict=True)]
    equals: Any = None
    one_of: Annotated[tuple[Any, ...], Field(min_length=1)] | None = None
    pattern: _Text | None = None
    minimum: _Number | None = None
    maximum: _Number | None = None
    exists: _Flag | None = None

    @field_validator("at")
    @classmethod
    def _pointer(cls, at: str) -> str:
        if at and not at.startswith("/"):
            raise ValueError("must be a JSON Pointer such as /path/0, or empty")
        if "~" in at.replace("~0", "").replace("~1", ""):
            raise ValueError("must write ~ as ~0, as JSON Pointers do")
        return at

    @field_validator("pattern")
    @classmethod
    def _expression(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            try:
                compile_pattern(pattern)
            except PatternError as error:
                raise ValueError(f"can't be used: {error}") from None
        return pattern

    @model_validator(mode="after")
    def _possible(self) -> Self:
        others = [name for name in _OPERATORS if getattr(self, name) is not None and name != "equals"]
        given = ["equals", *others] if self.tests_equality else others
        if not given:
            raise ValueError(f"needs one of {', '.join(_OPERATORS)}")
        if self.exists is False and len(given) > 1:
            raise ValueError("can never hold: what does not exist has no value")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError("can never hold: minimum is greater than maximum")
        return self

    @property
    def tests_equality(self) -> bool:
        """Whether `equals` was given; null is a value too."""
        return "equals" in self.model_fields_set


class PolicyRule(Strict):
    """One rule: where all its conditions hold, it decides. A rule without conditions holds for every request.

    Attributes:
        name: What the rule is called in answers and in the journal; without it, its number.
        tools: Globs over tool ids.
        servers: Globs over server ids, or keys of the configuration.
        tags: Tags that the configuration gives the server; one of them suffices, as in each of these lists.
        effects: What the call may do.
        principals: Globs over names of principals.
        sources: What made the request: `direct` (a model or program), a `script`, the `console`.
        faces: Where it came in.
        labels: Labels of what the caller or its run has read before.
        from_: Globs over tool ids: an argument holds a value from an earlier result of such a tool.
        arguments: Tests of the arguments; all must hold.
        then: What is done.
        reason: Why, as whoever asked is told.
    """

    name: Annotated[str, Field(min_length=1, max_length=100, strict=True)] | None = None
    tools: _Texts | None = None
    servers: _Texts | None = None
    tags: _Texts | None = None
    effects: Annotated[tuple[_Effect, ...], Field(min_length=1)] | None = None
    principals: _Texts | None = None
    sources: Annotated[tuple[_Source, ...], Field(min_length=1)] | None = None
    faces: Annotated[tuple[_Face, ...], Field(min_length=1)] | None = None
    labels: _Texts | None = None
    from_: Annotated[_Texts | None, Field(alias="from")] = None
    arguments: Annotated[tuple[ArgumentTest, ...], Field(min_length=1)] | None = None
    then: Verdict
    reason: Annotated[str, Field(max_length=1_000, strict=True)] = ""


class PolicySettings(Strict):
    """The `policy` object of the settings.

    Attributes:
        rules: The rules, in order; the first whose conditions hold decides.
        read_only: Whether only tools that are known to read may be used; no rule can allow others.
        ask_all: Whether every call of a tool that would be allowed is asked about.
    """

    rules: tuple[PolicyRule, ...] = ()
    read_only: _Flag = False
    ask_all: _Flag = False


def rule_label(rule: PolicyRule, number: int) -> str:
    """What a rule is called: its name, else its number, from 1."""
    return rule.name or f"rule {number}"
