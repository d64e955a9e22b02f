"""The bases of settings: an object of the configuration, and one in which nothing unknown may stand."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, model_validator


class ObjectModel(BaseModel):
    """Settings that stand as an object."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _object(cls, value: object) -> object:
        if isinstance(value, Mapping):
            return dict(cast("Mapping[str, Any]", value))
        if isinstance(value, cls):
            return value
        raise ValueError("must be an object")


class Strict(ObjectModel):
    """Settings without members that are not known: a mistyped one would decide more than was meant."""

    model_config = ConfigDict(extra="forbid")
