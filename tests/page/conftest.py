"""The browser for all tests of the page: they are left out where the machine has none, which `tools/check` tells."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.browsing import CHROMIUM, Listener, chromium, listening, page_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


# Of a module and not of the session: its driver has an event loop in this thread, and other tests begin their own.
@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with chromium() as started:
        yield started


@pytest.fixture
def page(browser: "Browser") -> "Iterator[Page]":
    with page_of(browser) as opened:
        yield opened


@pytest.fixture
def server(browser: "Browser", tmp_path: Path) -> Iterator[Listener]:
    with listening(tmp_path) as up:
        yield up
