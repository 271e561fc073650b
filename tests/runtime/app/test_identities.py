"""The ids of executions: decimal text of a positive 63-bit number that grows with time (LANGUAGE §8)."""

import itertools
import time

from noetl.app.identities import IDS, ExecutionIds
from noetl.engine.identities import child_ids, is_numeric

YEAR_2026 = 1_767_225_600_000
"""2026-01-01T00:00:00Z in milliseconds since 1970."""


def never(_: str) -> bool:
    return False


def drawing(moments: list[int], chances: list[int]) -> ExecutionIds:
    """Ids at these milliseconds, from these chances, one after the other; the last of each stays."""
    now, chance = iter(moments), iter(chances)
    return ExecutionIds(lambda: next(now) * 1000 + 999, lambda bits: next(chance) % (1 << bits))


def parts(drawn: str) -> tuple[int, int]:
    """The milliseconds and the rest, by division: the rest has 21 bits."""
    return divmod(int(drawn), 2_097_152)


def test_an_id_is_milliseconds_and_a_chance_of_21_bits() -> None:
    drawn = drawing([YEAR_2026], [5]).draw(never)
    assert drawn == str(YEAR_2026 * 2_097_152 + 5)
    assert len(drawn) == 19 and 0 < int(drawn) < 2**63


def test_within_a_millisecond_ids_count_up_and_the_next_begins_at_random() -> None:
    ids = drawing([YEAR_2026, YEAR_2026, YEAR_2026, YEAR_2026 + 1], [7, 3])
    assert [parts(ids.draw(never)) for _ in range(4)] == [
        (YEAR_2026, 7), (YEAR_2026, 8), (YEAR_2026, 9), (YEAR_2026 + 1, 3),
    ]  # fmt: skip


def test_ids_grow_when_a_millisecond_is_used_up_and_when_the_clock_is_set_back() -> None:
    ids = drawing([YEAR_2026, YEAR_2026, YEAR_2026 - 60_000, YEAR_2026 + 1, YEAR_2026 + 2], [2_097_151, 0, 1])
    drawn = [ids.draw(never) for _ in range(5)]
    assert [parts(name) for name in drawn] == [
        (YEAR_2026, 2_097_151), (YEAR_2026 + 1, 0), (YEAR_2026 + 1, 1), (YEAR_2026 + 1, 2), (YEAR_2026 + 2, 1),
    ]  # fmt: skip
    assert sorted(drawn, key=int) == sorted(drawn) == drawn, "as text and as numbers in one order"


def test_an_id_that_exists_is_drawn_again() -> None:
    there = {str(YEAR_2026 * 2_097_152 + low) for low in (5, 6)}
    assert parts(drawing([YEAR_2026] * 3, [5]).draw(there.__contains__)) == (YEAR_2026, 7)


def test_the_ids_of_this_process_are_of_now_and_differ() -> None:
    before = time.time_ns() // 1_000_000
    drawn = [IDS.draw(never) for _ in range(1000)]
    assert len({*drawn}) == 1000
    assert all(before <= int(name) >> 21 <= time.time_ns() // 1_000_000 + 1 for name in drawn)


def test_the_ids_of_a_child_are_fixed_and_of_the_time_of_its_call() -> None:
    caller, since = str(YEAR_2026 * 2_097_152 + 5), (YEAR_2026 + 1234) * 1000 + 56
    some = [*itertools.islice(child_ids(caller, "2:1:1:1", since), 5)]
    assert some == [*itertools.islice(child_ids(caller, "2:1:1:1", since), 5)]
    assert len({*some}) == 5 and all(is_numeric(name) and parts(name)[0] == YEAR_2026 + 1234 for name in some)
    assert some[0] != next(child_ids(caller, "2:1:1:2", since)), "another attempt is another child"


def test_a_child_on_a_virtual_clock_is_not_older_than_its_caller() -> None:
    caller = str(YEAR_2026 * 2_097_152 + 5)
    assert parts(next(child_ids(caller, "2:1:1:1", 250_000)))[0] == YEAR_2026


def test_the_child_of_an_execution_from_before_has_the_id_that_it_had() -> None:
    """By the rule of that time: `c`, and 23 hex digits of the SHA-256 of caller and call."""
    # printf '01a21f6d3ef84094738a:2:1:1:1' | sha256sum | cut -c 1-23
    assert [*child_ids("01a21f6d3ef84094738a", "2:1:1:1", 99)] == ["cf149d747c008ecb4ce4ca4d"]
    assert not is_numeric("01234567890123456789"), "twenty digits are of the form from before"
