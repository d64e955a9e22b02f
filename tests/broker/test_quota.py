"""How often principals may ask; the figures follow from a bucket that holds a minute's worth and fills evenly."""

import pytest

from toolcrib.broker import Principal, Quota, RateLimitedError, whole_seconds
from toolcrib.config import PrincipalSettings

ANN, BEN, LOCAL = Principal("ann"), Principal("ben", ("admin",)), Principal()


def quota(now: list[float], **bounds: int) -> Quota:
    names = {name.replace("everybody", "*"): each for name, each in bounds.items()}
    entries = {name: PrincipalSettings(calls_per_minute=each) for name, each in names.items()}
    return Quota(entries, "calls", lambda: now[0])


def test_a_minutes_worth_at_once_then_one_by_one() -> None:
    now = [0.0]
    counted = quota(now, ann=6)
    for _ in range(6):
        counted.take(ANN)
    with pytest.raises(RateLimitedError) as caught:
        counted.take(ANN)
    assert caught.value.wait == pytest.approx(10)
    now[0] = 9.9
    with pytest.raises(RateLimitedError):
        counted.take(ANN)
    now[0] = 10.0
    counted.take(ANN)


def test_asking_too_often_does_not_make_the_wait_longer() -> None:
    now = [0.0]
    counted = quota(now, ann=1)
    counted.take(ANN)
    for second in range(59):
        now[0] = float(second)
        with pytest.raises(RateLimitedError):
            counted.take(ANN)
    now[0] = 60.0
    counted.take(ANN)


def test_a_long_silence_saves_no_more_than_a_minutes_worth() -> None:
    now = [0.0]
    counted = quota(now, ann=2)
    counted.take(ANN)
    now[0] = 1e6
    counted.take(ANN)
    counted.take(ANN)
    with pytest.raises(RateLimitedError):
        counted.take(ANN)


def test_each_principal_is_counted_alone_whatever_its_roles_and_the_local_user_is_not_everybody() -> None:
    counted = quota([0.0], everybody=1)
    counted.take(ANN)
    counted.take(BEN)
    with pytest.raises(RateLimitedError, match="ben may make 1 call a minute"):
        counted.take(Principal("ben"))
    for _ in range(5):
        counted.take(LOCAL)


def test_only_what_is_configured_is_bound() -> None:
    assert not Quota({"ann": PrincipalSettings()}, "calls").is_bound
    assert not Quota({"ann": PrincipalSettings(calls_per_minute=1)}, "requests").is_bound
    assert quota([0.0], ann=1).is_bound


@pytest.mark.parametrize(("wait", "told"), [(0.0, 1), (0.2, 1), (1.0, 1), (1.01, 2), (59.5, 60)])
def test_a_wait_is_told_in_whole_seconds_that_suffice(wait: float, told: int) -> None:
    assert whole_seconds(wait) == told
