"""noetl.app.programs: a plan is read through once by each version, and nothing that was noted of it stands for that."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.mutating import mutants
from harness.running import compiled
from noetl.app import programs
from noetl.app.programs import WORTH, Programs
from noetl.ports import Store
from noetl.server.children import NotFound
from noetl.store.sqlite import open_store
from noetl_ir import plan_format
from noetl_ir.plan_format import PlanError, digest_of, read_plan
from noetl_ir.verify import verify

STEPS = "".join(f"- {{step: s{n}, tool: {{kind: noop}}, next: {{arcs: [{{step: s{n + 1}}}]}}}}\n" for n in range(80))
LARGE = compiled("workflow:\n" + STEPS.replace("s0,", "start,", 1) + "- {step: s80, tool: {kind: noop}}\n")
"""A plan of which it pays to note something."""


def unsound() -> bytes:
    """A plan that was changed and signed anew: no check of the format finds it, the verifier does."""
    for _, data in mutants(LARGE, 60, seed=5):
        try:
            read_plan(data)
        except PlanError as problem:
            if "not sound" in str(problem):
                return data
    raise AssertionError("no mutant is unsound")


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the plans that were verified, in order."""
    seen: list[str] = []

    def watch(plan: plan_format.Plan) -> object:
        seen.append(plan.name)
        return verify(plan)

    monkeypatch.setattr(plan_format, "verify", watch)
    return seen


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = open_store(f"sqlite:///{path}")
    yield store
    store.close()


def opened(store: Store) -> Programs:
    """The programs of a process that begins now."""
    return Programs(store, (), lambda path: (b"", {}))


def test_a_stored_plan_is_verified_once(store: Store, verified: list[str]) -> None:
    assert len(LARGE) >= WORTH
    digest = opened(store).add_plan(LARGE).digest
    assert len(verified) == 1
    again = opened(store).load(digest)
    assert len(verified) == 1 and again.plan == read_plan(LARGE)


def test_a_plan_of_an_older_store_is_verified_by_the_first_who_opens_it(store: Store, verified: list[str]) -> None:
    store.put_plan(digest_of(LARGE), "p", LARGE)
    for times in (1, 1):
        opened(store).load(digest_of(LARGE))
        assert len(verified) == times


def test_another_version_verifies_it_again(store: Store, verified: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    digest = opened(store).add_plan(LARGE).digest
    monkeypatch.setattr(programs, "verifier", lambda: "another")
    for times in (2, 2):
        opened(store).load(digest)
        assert len(verified) == times
    monkeypatch.setattr(programs, "verifier", lambda: "")  # without its source a version cannot say which it is
    for times in (3, 4):
        opened(store).load(digest)
        assert len(verified) == times


def test_a_file_is_verified_whatever_was_noted_of_its_digest(store: Store, verified: list[str]) -> None:
    opened(store).add_plan(LARGE)
    opened(store).add_plan(LARGE)
    assert len(verified) == 2
    opened(store).add_plan(LARGE, compiled=True)
    assert len(verified) == 2
    data = unsound()
    store.vouch(digest_of(data), programs.verifier())
    with pytest.raises(NotFound, match="not sound"):
        opened(store).add_plan(data)


@pytest.mark.parametrize("how", ["copied", "digest", "name", "text", "empty"])
def test_a_forged_note_is_none(store: Store, path: Path, how: str) -> None:
    data = unsound()
    digest = digest_of(data)
    store.put_plan(digest, "p", data)
    opened(store).add_plan(LARGE)
    store.close()
    with sqlite3.connect(path) as raw:
        ((seal,),) = raw.execute("SELECT value FROM keys WHERE name = ?", (f"verified {digest_of(LARGE)}",))
        forged = {"copied": seal, "digest": bytes.fromhex(digest), "name": programs.verifier().encode(), "empty": b""}
        raw.execute("INSERT INTO keys VALUES (?, ?)", (f"verified {digest}", forged.get(how, "text")))
    again = open_store(f"sqlite:///{path}")
    with pytest.raises(NotFound, match="not sound"):
        opened(again).load(digest)
    again.close()


def test_a_note_of_another_store_is_none(store: Store, path: Path, verified: list[str]) -> None:
    digest = opened(store).add_plan(LARGE).digest
    store.close()
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE keys SET value = randomblob(32) WHERE name = 'claims'")
    again = open_store(f"sqlite:///{path}")
    opened(again).load(digest)
    assert len(verified) == 2
    again.close()


def test_a_note_is_good_for_the_bytes_that_were_verified(store: Store, path: Path) -> None:
    digest = opened(store).add_plan(LARGE).digest
    other = compiled(
        f"workflow:\n{STEPS.replace('s0,', 'start,', 1)}- {{step: s80, tool: {{kind: noop, result: 1}}}}\n"
    )
    store.close()
    altered = bytearray(LARGE)
    altered[-5] ^= 1
    for data, why in ((bytes(altered), "altered"), (other, "another plan"), (LARGE[:-9], "truncated")):
        with sqlite3.connect(path) as raw:
            raw.execute("UPDATE plans SET data = ? WHERE digest = ?", (data, digest))
        again = open_store(f"sqlite:///{path}")
        with pytest.raises(NotFound, match=why):
            opened(again).load(digest)
        again.close()


def test_of_kinds_that_others_bring_nothing_is_noted(
    store: Store, verified: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The contract of a plugin's kind may change between two runs: whether its tasks park is in the net."""
    digest = opened(store).add_plan(LARGE).digest
    monkeypatch.setattr(programs, "only_own", lambda kinds: False)
    for times in (2, 3):
        opened(store).load(digest)
        assert len(verified) == times
