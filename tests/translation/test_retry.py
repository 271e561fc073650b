"""A compiled step with `retry` does what the interpreter of the texts does: calls, arguments, result, failure."""

import yaml
from hypothesis import given, note

from translation.effort import effort
from translation.playing import played
from translation.retry_reference import expected
from translation.retry_steps import Body, bodies, playbook_of


def agree(body: Body) -> None:
    """Both sides see the same."""
    playbook = playbook_of(body)
    note(yaml.safe_dump(playbook, sort_keys=False))
    note(str(body.answers))
    assert played(playbook, body.answers) == expected(body)


@given(bodies(listed=False))
@effort(100)
def test_a_mapping(body: Body) -> None:
    agree(body)


@given(bodies(listed=True))
@effort(100)
def test_a_list(body: Body) -> None:
    agree(body)
