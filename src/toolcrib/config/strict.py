"""The base of settings in which a mistyped member would decide more than was meant, and so is an error."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, model_validator


class Strict(BaseModel):
    """Settings without members that are not known."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _object(cls, value: object) -> object:
        if isinstance(value, Mapping):
            return dict(cast("Mapping[str, Any]", value))
        if isinstance(value, cls):
            return value
        raise ValueError("must be an object")
