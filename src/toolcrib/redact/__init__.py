"""Taking secrets out of what is logged, stored or shown.

Four nets, since none catches all: names that say that their value is secret, values that look like the
tokens of known services, the exact values that the configured servers were given, and the patterns of the
configuration.
"""

from toolcrib.redact.names import is_literal, looks_secret, names_variable
from toolcrib.redact.secrets import (
    MIN_SECRET,
    HoldsSecrets,
    HoldsValues,
    Secrets,
    redact,
    redact_text,
    spellings,
    without_known,
)
from toolcrib.redact.texts import REDACTED, mapped
from toolcrib.redact.urls import secrets_in_urls

__all__ = [
    "MIN_SECRET",
    "REDACTED",
    "HoldsSecrets",
    "HoldsValues",
    "Secrets",
    "is_literal",
    "looks_secret",
    "mapped",
    "names_variable",
    "redact",
    "redact_text",
    "secrets_in_urls",
    "spellings",
    "without_known",
]
