"""`noetl token`: tokens with an end and with scopes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from noetl.api.bearer_tokens import read_tokens
from noetl.cli.token import COMMAND


def _token(folder: Path, *words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(COMMAND, [*words, "--store", f"sqlite:///{folder}/noetl.db"], standalone_mode=False)
    told = result.output if result.exception is None else str(result.exception)
    return result.exit_code, result.stdout, told


def test_a_token_with_an_end_and_scopes(tmp_path: Path) -> None:
    limits = ("--expires", "2999-01-01T00:00:00Z", "--path", "team-a/", "--path", "shared/report", "--pool", "gpu")
    code, made, _ = _token(tmp_path, "add", "ann", "--role", "operator", *limits)
    assert code == 0 and made.startswith("noetl_")
    (row,) = read_tokens(f"{tmp_path}/noetl.db.tokens")
    assert (row.paths, row.pools) == (("team-a/", "shared/report"), ("gpu",))
    _, shown, _ = _token(tmp_path, "list")
    head, line = shown.splitlines()
    assert head.split() == ["NAME", "ROLE", "EXPIRES", "PLAYBOOKS", "POOLS"]
    assert line.split() == ["ann", "operator", "2999-01-01", "00:00:00Z", "team-a/", "shared/report", "gpu"]
    _, text, _ = _token(tmp_path, "list", "--json")
    assert json.loads(text) == [
        {"name": "ann", "role": "operator", "expires": "2999-01-01T00:00:00.000000Z",
         "paths": ["team-a/", "shared/report"], "pools": ["gpu"]},
    ]  # fmt: skip


def test_a_replacement_says_what_is_wider_now(tmp_path: Path) -> None:
    _token(tmp_path, "add", "ann", "--role", "operator", "--path", "team-a/")
    _, _, told = _token(tmp_path, "add", "ann", "--role", "operator", "--replace")
    assert "its role stays `operator`; it was for the playbooks team-a/ before" in told


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--expires", "30"), ("--expires", "2001-01-01T00:00:00Z"), ("--expires", "2027-01-01"), ("--expires", "0"),
        ("--expires", "999999d"), ("--path", "/"), ("--path", "team-*"), ("--pool", ""),
    ],
)  # fmt: skip
def test_a_limit_that_can_be_none_is_refused(tmp_path: Path, option: str, text: str) -> None:
    code, _, told = _token(tmp_path, "add", "ann", "--role", "viewer", option, text)
    assert code != 0 and option in told
    assert not (tmp_path / "noetl.db.tokens").exists()


def test_a_replacement_says_when_the_one_before_would_have_expired(tmp_path: Path) -> None:
    _token(tmp_path, "add", "ann", "--role", "operator", "--expires", "2999-01-01T00:00:00Z")
    _, _, told = _token(tmp_path, "add", "ann", "--role", "operator", "--replace")
    assert "it would have expired at 2999-01-01 00:00:00Z" in told
    _, _, told = _token(tmp_path, "add", "ann", "--role", "operator", "--pool", "gpu", "--expires", "1d", "--replace")
    assert "its role stays `operator`; it would never have expired; it was for all pools before" in told
