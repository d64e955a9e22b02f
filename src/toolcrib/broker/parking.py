"""Calls that wait for an input: the seam for approvals, elicitation, sampling and roots."""

from typing import Protocol

from toolcrib.broker.call import Call, Caller, Options, Outcome
from toolcrib.errors import UsageError


class Parking(Protocol):
    """Keeps calls that can't go on until somebody answered something."""

    async def park(self, call: Call, outcome: Outcome) -> Outcome:
        """Keep a call that the server answered with questions; the outcome carries the token to come back."""
        ...

    async def resume(self, token: str, caller: Caller, options: Options) -> Outcome:
        """Come back to a parked call with the answers.

        Raises:
            UsageError: The token is unknown, spent or not the caller's.
        """
        ...


class NoParking:
    """Keeps nothing: what the server asks for is handed to the caller as it is, and there is no way back."""

    async def park(self, call: Call, outcome: Outcome) -> Outcome:
        """The outcome, unchanged."""
        return outcome

    async def resume(self, token: str, caller: Caller, options: Options) -> Outcome:
        """Refuse: nothing was parked.

        Raises:
            UsageError: Always.
        """
        raise UsageError("That token belongs to no waiting call.", hint="Repeat the call without it.")
