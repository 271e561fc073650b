"""The agenda, against a list that is searched."""

from hypothesis import example, given
from hypothesis import strategies as st

from noetl.server.agenda import Agenda

ENTRIES = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.none() | st.integers(0, 20), st.booleans()),
    max_size=200,
)


@given(ENTRIES, st.integers(0, 21))
@example([("b", None, False), ("a", 5, False), ("a", 3, False), ("a", 5, False)], 5)
def test_it_says_what_a_plain_search_says(entries: list[tuple[str, int | None, bool]], now: int) -> None:
    agenda, plain, waiting = Agenda(), dict[str, int](), set[str]()
    for at, (name, due, waits) in enumerate(entries):
        agenda.schedule(name, due, waiting=waits)
        plain.pop(name, None)
        if due is not None:
            plain[name] = due
        (waiting.add if waits else waiting.discard)(name)
        if at % 3 == 0:
            agenda.ripe(now)
        assert agenda.next() == min(plain.values(), default=None)
    assert agenda.waiting == waiting
    ripe = agenda.ripe(now)
    assert sorted(ripe) == sorted(name for name, due in plain.items() if due <= now)
    assert [plain[name] for name in ripe] == sorted(plain[name] for name in ripe)
    assert agenda.ripe(now) == ripe
    for name in list(plain):
        agenda.forget(name)
    assert agenda.next() is None
