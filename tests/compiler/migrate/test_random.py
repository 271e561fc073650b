"""Whatever older constructs stand side by side: what compiles is migrated, means the same, and stays as it is."""

import json

import yaml
from hypothesis import given, note
from hypothesis import strategies as st

from harness.samples import shares
from legacy_playbooks import legacy_playbooks
from noetlc.diag.diagnostic import Severity
from noetlc.migrate.migration import migrated
from noetlc.pipeline import compile_source
from translation.effort import effort


@shares(150, effort)
@given(legacy_playbooks(), st.sampled_from([None, False]))
def test_a_mixture_is_migrated_and_stays(share: int, playbook: object, flow: bool | None) -> None:
    data = yaml.safe_dump(json.loads(json.dumps(playbook)), sort_keys=False, default_flow_style=flow).encode()
    note(data.decode())
    made = migrated("t.yaml", data)
    if compile_source("t.yaml", data).count_of(Severity.ERROR):
        assert made.after is None
        return
    assert made.after is not None, made.problems
    again = migrated("t.yaml", made.after)
    assert (again.after, again.changes) == (made.after, ())
