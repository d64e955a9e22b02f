"""`Limits`: what one run of a script may use up."""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """The budgets of one run. The driver keeps all of them; what a back-end keeps too is a second line.

    Attributes:
        cpu: Seconds of processor time.
        wall: Seconds that pass while no call of the script is under way.
        total: Seconds in all, calls included.
        memory: Bytes of memory.
        output: Bytes of printed text that are kept; sixteen times as much ends the run.
        result_nodes: Values in the final value, each object, array and scalar counted.
        result_depth: Objects and arrays inside each other in the final value.
        result_bytes: Bytes of the final value as JSON.
        calls: Calls in all.
        in_flight: Calls under way at once; further ones wait for their turn.
        argument_bytes: Bytes of one call's arguments as JSON.
        answer_bytes: Bytes of one answer that is handed to the script, as JSON.
        code_bytes: Bytes of the script.
    """

    cpu: float = 5.0
    wall: float = 10.0
    total: float = 300.0
    memory: int = 128 * MIB
    output: int = 64 * KIB
    result_nodes: int = 100_000
    result_depth: int = 64
    result_bytes: int = MIB
    calls: int = 500
    in_flight: int = 64
    argument_bytes: int = MIB
    answer_bytes: int = 8 * MIB
    code_bytes: int = 256 * KIB

    @property
    def flood(self) -> int:
        """Bytes of printed text beyond which the run is ended."""
        return 16 * self.output


DEFAULT_LIMITS = Limits()
"""What a run may use up where nothing else is said."""
