"""Which known name is taken for the one that was meant."""

import pytest

from noetl_ir.nearest import nearest

KNOWN = ("auth", "command", "events", "fail_fast", "retry", "sink", "timers")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("event", "events"), ("fast", "fail_fast"), ("Retry", "retry"), ("signal", ""), ("x", ""), ("", "")],
)
def test_only_what_looks_alike_is_meant(name: str, meant: str) -> None:
    assert nearest(name, KNOWN) == meant
