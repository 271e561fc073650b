"""Sources beside plans: what is written is read again, and nothing else is."""

from itertools import pairwise

import pytest

from harness.running import HEAD
from noetl_ir.plan_format import digest_of, digests_in, read_plan, write_plan
from noetl_ir.plan_sources import MAX_BYTES, MAX_SOURCES, BadSources, read_sources, sourced_plans, write_sources
from noetlc.pipeline import compile_source

A, B = "0a" * 32, "ff" * 32


class _Catalogue:
    """Playbooks by their paths, each of which calls the next one."""

    def __init__(self, *paths: str) -> None:
        self.sources = {path: _source(path, after) for path, after in pairwise((*paths, ""))}

    def find(self, path: str) -> tuple[str, bytes] | None:
        """The file of a path."""
        return (f"{path}.yaml", self.sources[path]) if path in self.sources else None


def _source(path: str, calls: str) -> bytes:
    tool = f"{{kind: playbook, path: {calls}}}" if calls else "{kind: noop}"
    return (HEAD.replace("t/t", path) + f"workflow: [{{step: start, tool: {tool}}}]  # {path}\n").encode()


def test_the_form_of_the_bytes() -> None:
    written = write_sources({B: b"b: 2\r\n\xff", A: b""}, b"NOETLPLN")
    first = bytes.fromhex(A) + b"\0\0\0\0"
    second = bytes.fromhex(B) + b"\0\0\0\x07" + b"b: 2\r\n\xff"
    assert written == b"NOETLSRC\x01" + b"\0\0\0\x02" + first + second + b"NOETLPLN"
    assert read_sources(written) == ({A: b"", B: b"b: 2\r\n\xff"}, b"NOETLPLN")
    assert read_sources(write_sources({})) == ({}, b"")


def test_what_is_cut_off_or_too_much_is_refused() -> None:
    written = write_sources({A: b"a: 1", B: b"b: 2"})
    for end in range(len(written)):
        with pytest.raises(BadSources):
            read_sources(written[:end])
    for other in (b"", b"apiVersion: noetl.io/v2\n", b"NOETLPLN" + written[8:], b"NOETLSRC\x02" + written[9:]):
        with pytest.raises(BadSources):
            read_sources(other)
    with pytest.raises(BadSources, match="more than"):
        read_sources(b"NOETLSRC\x01" + (MAX_SOURCES + 1).to_bytes(4, "big"))
    with pytest.raises(BadSources, match="more than"):
        read_sources(b"NOETLSRC\x01\0\0\0\x01" + bytes(32) + (MAX_BYTES + 1).to_bytes(4, "big"))


def test_each_plan_of_a_family_has_its_own_source_and_no_other_plan_gets_one() -> None:
    catalogue = _Catalogue("t/top", "t/middle", "t/bottom")
    top, *_ = compile_source("top.yaml", catalogue.sources["t/top"], catalogue).documents
    assert top.plan is not None
    data = write_plan(top.plan)
    middle = top.plan.children[0]
    bottom = read_plan(middle.data).children[0]
    assert {*digests_in(data)} == {digest_of(data), middle.digest, bottom.digest}
    assert top.embedded == {
        middle.digest: catalogue.sources["t/middle"],
        bottom.digest: catalogue.sources["t/bottom"],
    }
    known = {**top.embedded, digest_of(data): catalogue.sources["t/top"], A: b"of another plan"}
    found = [*sourced_plans(data, known)]
    assert (
        found
        == [*sourced_plans(data, known, top.plan)]
        == [
            (digest_of(data), data, catalogue.sources["t/top"]),
            (middle.digest, middle.data, catalogue.sources["t/middle"]),
            (bottom.digest, bottom.data, catalogue.sources["t/bottom"]),
        ]
    )
    # The plan is what it was: sources are no part of it.
    assert data == write_plan(compile_source("top.yaml", catalogue.sources["t/top"], catalogue).plans[0])


def test_a_child_that_shares_its_file_has_the_lines_of_its_own_document_alone() -> None:
    """Whoever may see the child may not see what its neighbour does."""
    first, second = _source("team-b/own", ""), _source("team-a/child", "")
    text = b"# of all\n---\n" + first + b"---\n" + second + b"---\n" + _source("team-b/other", "")

    class One:
        """One file with all of them."""

        def find(self, path: str) -> tuple[str, bytes] | None:
            """The file."""
            return ("all.yaml", text) if path == "team-a/child" else None

    [document] = compile_source("t.yaml", _source("team-a/t", "team-a/child"), One()).documents
    [source] = document.embedded.values()
    assert b"team-b" not in source and b"of all" not in source
    lines, all_lines = source.split(b"\n"), text.split(b"\n")
    kept = [number for number, line in enumerate(lines) if line]
    assert [lines[number] for number in kept] == second.splitlines()
    assert all(lines[number] == all_lines[number] for number in kept)


def test_digests_of_damaged_plans_are_those_before_the_damage() -> None:
    catalogue = _Catalogue("t/top", "t/middle")
    data = write_plan(compile_source("top.yaml", catalogue.sources["t/top"], catalogue).plans[0])
    assert [*digests_in(b"")] == [*digests_in(b"a: 1")] == []
    for end in range(len(data)):
        assert [*digests_in(data[:end])] == [*digests_in(data)][: len([*digests_in(data[:end])])]
    assert [*sourced_plans(data[:200], {A: b""})] == []
