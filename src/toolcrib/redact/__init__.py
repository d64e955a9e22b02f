"""Taking secrets out of what is logged, stored or shown.

Four nets, since none catches all: names that say that their value is secret, values that look like the
tokens of known services, the exact values that the configured servers were given, and the patterns of the
configuration.
"""

from toolcrib.redact.names import looks_secret
from toolcrib.redact.secrets import MIN_SECRET, HoldsSecrets, HoldsValues, Secrets, redact, redact_text, without_known
from toolcrib.redact.texts import REDACTED, mapped

__all__ = [
    "MIN_SECRET",
    "REDACTED",
    "HoldsSecrets",
    "HoldsValues",
    "Secrets",
    "looks_secret",
    "mapped",
    "redact",
    "redact_text",
    "without_known",
]
