"""The view of what the analysis says about a playbook."""

from goldens import Case
from noetlc.cli import main


def verdicts(case: Case) -> str:
    """The report with its queries and numbers, as `noetlc analyze --states` prints it."""
    import contextlib
    import io
    import os

    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    here = os.getcwd()
    os.chdir(case.path.parent)
    try:
        with contextlib.redirect_stdout(out):
            main(["analyze", case.path.name, "--states"])
    finally:
        os.chdir(here)
    out.flush()
    return out.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined, no-any-return]
