"""Fixtures for all tests: golden texts that lie beside their inputs under golden/, and clusters of processes."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from syrupy.assertion import SnapshotAssertion
from syrupy.data import SnapshotCollections
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from goldens import GOLDEN
from noetl.host import engine_files, process_secrets

if TYPE_CHECKING:
    from harness.clusters import Cluster

pytest_plugins = ["pytester"]

# The gate draws the same cases each time: what fails there fails for everybody, and says something about the
# change. `pytest --hypothesis-profile explore` draws new ones, many more.
settings.register_profile("gate", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", max_examples=5000, deadline=None)
settings.load_profile("gate")


def pytest_collection_finish() -> None:
    """Modules and thousands of collected tests live to the end: the garbage collector need not look at them again."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def own_caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Caches that programs keep from run to run stay out of the user's folders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def own_process() -> Iterator[None]:
    """Stores and secrets that a process has learnt are those of one test: one process plays thousands of them."""
    # Not by `monkeypatch`: asked for here it would be undone after all other fixtures, in every test.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_files, "_stores", {**engine_files._stores})
        patch.setattr(process_secrets, "_known", {**process_secrets._known})
        yield


class BesideTheInput(SingleFileSnapshotExtension):
    """A snapshot named `<stage>/<case>.<view>` is that file under golden/, as plain text."""

    _write_mode = WriteMode.TEXT

    @classmethod
    def get_location(cls, *, test_location: Any, index: Any) -> str:
        """The snapshot's file; its name is the whole address."""
        return str(GOLDEN / str(index))

    @classmethod
    def matches_test_location(cls, *, test_location: Any, snapshot_location: str) -> bool:
        """Any test may own any golden: the name decides."""
        return True

    def discover_snapshots(self, **_: Any) -> SnapshotCollections:
        """None: syrupy deletes what it discovers and no test used, and the inputs lie there too.

        Views without an input are found by `goldens.strays` instead.
        """
        return SnapshotCollections()


@pytest.fixture
def golden_text(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """`golden_text(name="<stage>/<case>.<view>") == text`; `--snapshot-update` rewrites the file."""
    return snapshot.use_extension(BesideTheInput)


@pytest.fixture
def cluster(tmp_path: Path) -> "Iterator[Cluster]":
    """Servers and workers as processes over a new store and a new bus; killed at the end."""
    from harness.clusters import Cluster  # what it needs is loaded by the tests that have one

    made = Cluster(tmp_path)
    try:
        yield made
    finally:
        made.stop()
