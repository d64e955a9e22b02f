"""The settings of the journal and the store."""

from typing import Any

import pytest

from toolcrib.config import config_from_mapping
from toolcrib.errors import ConfigError


def configured(**settings: Any) -> Any:
    return config_from_mapping({"mcpServers": {}, "toolcrib": settings}).settings


def test_calls_are_recorded_unless_the_configuration_says_otherwise() -> None:
    journal = configured().journal
    assert (journal.enabled, journal.sync, journal.arguments) == (True, "normal", "redacted")
    assert configured(journal={"enabled": False}).journal.enabled is False


@pytest.mark.parametrize(
    ("journal", "message"),
    [
        ({"redact": ["body"]}, "must be a JSON Pointer, which begins with /"),
        ({"sync": "sometimes"}, "toolcrib.journal.sync"),
        ({"retention_days": 0}, "toolcrib.journal.retention_days"),
        ({"max_rows": "many"}, "toolcrib.journal.max_rows"),
        ({"enabled": "yes"}, "toolcrib.journal.enabled"),
        ({"arguments": "all"}, "toolcrib.journal.arguments"),
        ("on", "toolcrib.journal"),
    ],
)
def test_what_is_configured_wrongly_is_told_by_its_path(journal: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configured(journal=journal)
    assert message in str(caught.value)


def test_the_password_in_the_url_of_the_store_is_not_shown() -> None:
    settings = configured(store="postgresql://me:s3cret-pass@db.example/toolcrib")
    assert settings.store.startswith("postgresql://")
    assert "s3cret-pass" not in repr(settings) + str(settings)
