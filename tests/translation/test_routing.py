"""A compiled step with `next` of v1 leads where the ladder leads, and gives what it says."""

import yaml
from hypothesis import given, note

from translation.effort import effort
from translation.playing import played
from translation.routing_reference import expected
from translation.routing_steps import Body, bodies, playbook_of


@given(bodies())
@effort(150)
def test_the_ladder(body: Body) -> None:
    playbook = playbook_of(body)
    note(yaml.safe_dump(playbook, sort_keys=False))
    note(str(body.answers))
    assert played(playbook, body.answers) == expected(body)
