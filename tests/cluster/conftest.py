"""A cluster of processes for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.clusters import Cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Servers and workers over a new store and a new bus; killed at the end."""
    made = Cluster(tmp_path)
    yield made
    made.stop()
