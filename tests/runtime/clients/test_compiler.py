"""Sources that come from elsewhere, compiled under the names that they have there."""

from pathlib import Path

import pytest

from harness.running import HEAD
from noetl.clients.compiler import CompileError, compile_playbook, compile_source

GOOD = (HEAD + "workflow:\n  - {step: start, tool: {kind: noop, result: 1}}\n").encode()
BAD = (HEAD + "workflow:\n  - {step: start, tool: {kind: nooop}}\n").encode()


def test_a_source_compiles_as_the_file_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "order.yaml").write_bytes(GOOD)
    monkeypatch.chdir(tmp_path)
    assert compile_source(GOOD, "shop/order.yaml", ()) == compile_playbook(Path("shop/order.yaml"), ())
    with pytest.raises(CompileError, match=r"^shop/order.yaml:5:32: error\[NL107\]"):
        compile_source(BAD, "shop/order.yaml", ())


@pytest.mark.parametrize(
    "name", ["../../above.yaml", "/tmp/above.yaml", "plan.ir", "no suffix", "é.yaml", "a/../b.yaml"]
)
def test_any_name_of_a_file_will_do(name: str) -> None:
    assert compile_source(GOOD, name, ()).plan.startswith(b"NOETLPLN")
    assert not Path("/tmp/above.yaml").exists()


@pytest.mark.parametrize("name", ["", ".", "..", "/", "a\0b", "x" * 300, "\ud800", "-"])
def test_what_is_no_name_is_said(name: str) -> None:
    with pytest.raises(CompileError):
        compile_source(GOOD, name, ())


@pytest.mark.parametrize("name", ["click.py", "yaml/__init__.py", "json.py", "noetlc/cli/__main__.py"])
def test_a_source_is_never_run(name: str, tmp_path: Path) -> None:
    """A folder with a playbook of a server is nowhere that Python looks for modules."""
    ran = tmp_path / "ran"
    with pytest.raises(CompileError):
        compile_source(f"open({str(ran)!r}, 'w')\n".encode(), name, ())
    assert not ran.exists()
    assert compile_source(GOOD, name, ()).plan.startswith(b"NOETLPLN")


def test_its_children_are_found_in_folders_that_are_named_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "catalogue").mkdir()
    (tmp_path / "catalogue" / "c.yaml").write_bytes(GOOD.replace(b"t/t", b"t/c"))
    monkeypatch.chdir(tmp_path)
    calls = HEAD + "workflow:\n  - {step: start, tool: {kind: playbook, path: t/c}}\n"
    with_child = compile_source(calls.encode(), "a.yaml", [Path("catalogue")]).plan
    assert len(with_child) > len(compile_source(calls.encode(), "a.yaml", ()).plan)
