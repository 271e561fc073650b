"""Named tuples are those of `typing`, which is the oracle here."""

import copy
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest

from noetl_ir import records


class Row(records.NamedTuple):
    at: int
    name: "str"
    rest: tuple[int, ...] = ()

    @property
    def twice(self) -> int:
        return 2 * self.at


class Theirs(typing.NamedTuple):
    at: int
    name: "str"
    rest: tuple[int, ...] = ()

    @property
    def twice(self) -> int:
        return 2 * self.at


class Empty(records.NamedTuple):
    pass


class Named(Row):
    """Derives from a row, as any class may."""


def _matched(row: Any) -> object:
    match row:
        case Row(1, name=name) | Theirs(1, name=name):
            return name
    return None


USES: list[Callable[[Any], object]] = [
    lambda made: made(1, "a"),
    lambda made: made(name="a", at=1),
    lambda made: made(1, "a", rest=(2,)),
    lambda made: made(*[1, "a"])._replace(name="b"),
    lambda made: made(1, "a")._asdict(),
    lambda made: made._make(iter((1, "a", ()))),
    lambda made: (made._fields, made._field_defaults, made.__match_args__),
    lambda made: (made(1, "a").at, made(1, "a").name, made(1, "a").rest, made(3, "a").twice),
    lambda made: repr(made(1, "a")).partition("(")[2],
    lambda made: hash(made(1, "a")),
    lambda made: sorted([made(2, "a"), made(1, "b"), made(1, "a")]),
    lambda made: _matched(made(1, "a")),
    lambda made: hasattr(made(1, "a"), "__dict__"),
    lambda made: [*made(1, "a")],
]
WRONG: list[Callable[[Any], object]] = [
    lambda made: made(1),
    lambda made: made(1, "a", (), 4),
    lambda made: made(1, "a", other=2),
    lambda made: made._make((1, "a")),
    lambda made: made(1, "a")._replace(other=2),
    lambda made: setattr(made(1, "a"), "at", 2),
]


@pytest.mark.parametrize("use", USES)
def test_they_are_made_and_used_alike(use: Callable[[Any], object]) -> None:
    assert use(Row) == use(Theirs)


@pytest.mark.parametrize("wrong", WRONG)
def test_they_refuse_alike(wrong: Callable[[Any], object]) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)) as theirs:
        wrong(Theirs)
    with pytest.raises(theirs.type) as ours:
        wrong(Row)
    assert str(ours.value).replace("Row.", "") == str(theirs.value).replace("Theirs.", "")


def test_they_can_be_copied_and_sent_to_another_process() -> None:
    for row in (Row(1, "a"), Empty(), Named(1, "b", (2,))):
        for again in (copy.copy(row), copy.deepcopy(row), pickle.loads(pickle.dumps(row))):
            assert again == row and type(again) is type(row)


def test_a_class_that_derives_from_one_has_its_fields() -> None:
    assert Named(1, "a") == Row(1, "a") and Named._fields == Row._fields
    assert repr(Named(1, "a")) == "Named(at=1, name='a', rest=())"


def test_one_of_many_is_as_the_first() -> None:
    class Often(records.NamedTuple):
        at: int
        rest: tuple[int, ...] = ()

    made = [Often(at, ()) for at in range(1_500)]
    assert (made[0], made[-1]) == ((0, ()), (1_499, ()))
    assert [type(one) for one in (made[0], made[-1], Often(1), Often(at=1))] == [Often] * 4
    with pytest.raises(TypeError):
        Often(1, (), 2)  # type: ignore[call-arg]
