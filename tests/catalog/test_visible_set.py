import gc
from weakref import WeakKeyDictionary

from toolcrib.catalog.visible import VisibleSet


def test_it_holds_each_id_once() -> None:
    visible = VisibleSet(["a.x", "b.y", "a.x"])
    assert len(visible) == 2
    assert sorted(visible) == ["a.x", "b.y"]
    assert "a.x" in visible
    assert "c.z" not in visible
    assert None not in visible


def test_two_sets_of_the_same_ids_are_two_sets() -> None:
    first, second = VisibleSet(["a.x"]), VisibleSet(["a.x"])
    assert first != second
    assert len({first, second}) == 2


def test_what_is_derived_from_a_set_goes_with_it() -> None:
    derived: WeakKeyDictionary[VisibleSet, str] = WeakKeyDictionary()
    visible = VisibleSet(["a.x"])
    derived[visible] = "mask"
    assert derived[visible] == "mask"
    del visible
    gc.collect()
    assert not derived
