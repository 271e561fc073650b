"""Fixtures for all tests: golden texts that lie beside their inputs under golden/."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.data import SnapshotCollections
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from goldens import GOLDEN

pytest_plugins = ["pytester"]


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
