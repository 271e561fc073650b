"""A compiled step that waits for events does what the interpreter of the dialect does."""

import yaml
from hypothesis import given, note

from harness.samples import shares
from translation.effort import effort
from translation.event_reference import expected
from translation.event_steps import Waiting, playbook_of, script_of, waits
from translation.playing import played


@shares(120, effort)
@given(waits())
def test_on_event(share: int, waiting: Waiting) -> None:
    playbook = playbook_of(waiting)
    note(yaml.safe_dump(playbook, sort_keys=False))
    note(f"{waiting.signals} {waiting.body.outcomes}")
    assert played(playbook, waiting.body.outcomes, script_of(waiting)) == expected(waiting)
