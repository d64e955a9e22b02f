"""The account of a run, as a model reads it."""

from toolcrib.scripts import MadeCall, RunOutcome, run_result


def account(*calls: MadeCall) -> list[str]:
    outcome = RunOutcome("run_1", "python", "python", "ok", calls=calls)
    return run_result(outcome)["content"][-1]["text"].splitlines()


def test_calls_of_one_line_that_ended_alike_are_counted() -> None:
    calls = [MadeCall(n, "box.add", 3, "write", "done") for n in range(1, 31)]
    calls += [MadeCall(n, "box.add", 3, "write", "failed", f"no {n}") for n in range(31, 34)]
    calls += [MadeCall(34, "box.add", 5, "write", "unknown", "lost")]
    assert account(*calls) == [
        "run_1: 34 calls in 0.0 s, with effects:",
        "- box.add ×30 (line 3): done",
        "- box.add ×3 (line 3): failed: no 31; and others",
        "- box.add (line 5): unknown: lost",
    ]


def test_a_long_account_says_how_many_calls_it_leaves_out() -> None:
    calls = [MadeCall(n, f"box.t{n}", n, "write", "failed", "no") for n in range(1, 50) for _ in range(2)]
    told = account(*calls)
    assert len(told) == 42
    assert told[-1] == "- and 18 more"
