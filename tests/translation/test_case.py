"""A compiled step with `case` does what the interpreter of the dialect does: calls, arguments, routing, `ctx`."""

import yaml
from hypothesis import given, note

from translation.case_reference import expected
from translation.case_steps import Body, bodies, playbook_of
from translation.effort import effort
from translation.playing import played


def agree(body: Body) -> None:
    """Both sides see the same."""
    playbook = playbook_of(body)
    note(yaml.safe_dump(playbook, sort_keys=False))
    note(str(body.answers))
    assert played(playbook, body.answers) == expected(body)


@given(bodies())
@effort(100)
def test_exclusive(body: Body) -> None:
    agree(body)


@given(bodies(looped=True))
@effort(60)
def test_in_a_loop(body: Body) -> None:
    agree(body)


@given(bodies(mode="inclusive"))
@effort(100)
def test_inclusive(body: Body) -> None:
    agree(body)


@given(bodies(mode="inclusive", looped=True))
@effort(40)
def test_inclusive_in_a_loop(body: Body) -> None:
    agree(body)


@given(bodies(repeats=True))
@effort(100)
def test_exclusive_that_tries_again(body: Body) -> None:
    agree(body)


@given(bodies(mode="inclusive", repeats=True))
@effort(80)
def test_inclusive_that_tries_again(body: Body) -> None:
    agree(body)


@given(bodies(looped=True, repeats=True))
@effort(50)
def test_in_a_loop_that_tries_again(body: Body) -> None:
    agree(body)
