"""The slider over a long log, in a browser: each position is shown, and a frame costs little."""

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from harness.browsing import COUNT, Costs, Listener
from harness.running import HEAD
from harness.serving import until
from noetl.api import static_page
from noetl.app.frames import LONGEST

if TYPE_CHECKING:
    from playwright.sync_api import Page

SLIDE = """async ([from, to, count]) => {
  const slider = document.querySelector('input[type=range]');
  const where = document.querySelector('.slider .where');
  const seen = new Set();
  for (let n = 0; n < count; n += 1) {
    slider.value = String(Math.round(from + (n * (to - from)) / count));
    slider.dispatchEvent(new Event('input'));
    await new Promise((done) => requestAnimationFrame(done));
    seen.add(where.textContent);
  }
  return seen.size;
}"""
"""Moves the slider once a frame; gives how many positions were shown."""

FRAMES = 60


def opened(server: Listener, page: "Page", steps: str, last: str) -> int:
    """Open a run that is over, and take hold of its slider; how many events it has."""
    server.register(f"{HEAD}workflow:\n  - {{step: start, next: {{arcs: [{{step: s0}}]}}}}\n{steps}")
    name = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{name}/row").json()["status"] == "completed", 120)
    page.set_default_timeout(120_000)
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_role("button", name=f"Step {last}: done").wait_for()
    page.get_by_role("slider").focus()
    return int(str(page.get_by_role("slider").get_attribute("max")))


def checked(page: "Page", total: int) -> None:
    """Move the slider through the whole log and back: all is shown, and costs little."""
    # What it passes is fetched once somebody takes hold of it.
    until(lambda: page.evaluate(SLIDE, [1, total, FRAMES]) == FRAMES, 60)
    costs = Costs(page)
    million = costs.of(COUNT)[0] / 20
    for ends in ((1, total), (total, 1)):
        seconds, layouts = costs.of(SLIDE, *ends, FRAMES)
        # A box whose text is measured in the picture has all of the picture laid out, once for each box.
        assert layouts <= 2 * FRAMES
        # To count to a million takes some 3 ms, of the 33 that a frame has.
        assert seconds / FRAMES < 10 * million
    stage = "document.querySelector('.stage').shadowRoot"
    # Each of these has a layer of its own, and a thousand of them take a second to draw.
    faded = "filter((one) => getComputedStyle(one).opacity !== '1')"
    assert page.evaluate(f"[...{stage}.querySelectorAll('.node')].{faded}.length") == 0
    assert page.evaluate(f"{stage}.getAnimations().length") == 0, "what ran then does not run now"


def test_a_picture_of_many_steps_is_moved_through(server: Listener, page: "Page") -> None:
    count = 400
    steps = "".join(
        f"  - {{step: s{n}, tool: {{kind: noop}}, next: {{arcs: [{{step: s{n + 1}}}]}}}}\n" for n in range(count)
    )
    total = opened(server, page, f"{steps}  - {{step: s{count}, tool: {{kind: noop}}}}\n", f"s{count}")
    assert total > 2_400
    page.get_by_role("slider").fill(str(total - 400))
    page.get_by_text(f"{total - 400:,} of {total:,}").wait_for()
    checked(page, total)


def test_what_the_server_would_fold_anew_is_not_fetched_ahead(server: Listener, page: "Page") -> None:
    text = (Path(static_page.__file__).parents[1] / "page" / "frames.js").read_text("utf-8")
    kept = f"const KEPT = {LONGEST:_};"
    assert kept in text
    less = text.replace(kept, "const KEPT = 1_000;")
    page.route("**/page/frames.js", lambda route: route.fulfill(body=less, content_type="text/javascript"))
    asked = set[str]()

    def hear(url: str) -> None:
        if urlsplit(url).path.endswith("/frames"):
            asked.update(parse_qs(urlsplit(url).query)["after"])

    page.on("request", lambda request: hear(request.url))
    steps = "".join(
        f"  - {{step: s{n}, tool: {{kind: noop}}, next: {{arcs: [{{step: s{n + 1}}}]}}}}\n" for n in range(300)
    )
    total = opened(server, page, f"{steps}  - {{step: s300, tool: {{kind: noop}}}}\n", "s300")
    assert 1_500 < total <= 2_000
    page.wait_for_timeout(500)
    assert asked == {"0", "500", "1500"}, "1,500 is where it stands"


@pytest.mark.long
def test_a_log_of_30_000_events_is_moved_through(server: Listener, page: "Page") -> None:
    count = 10
    loop = "loop: {in: '{{ range(750) | list }}', iterator: i, spec: {mode: parallel}}"
    steps = "".join(
        f"  - {{step: s{n}, {loop}, tool: {{kind: noop}}, next: {{arcs: [{{step: s{n + 1}}}]}}}}\n"
        for n in range(count)
    )
    total = opened(server, page, f"{steps}  - {{step: s{count}, tool: {{kind: noop}}}}\n", f"s{count}")
    assert total > 30_000
    checked(page, total)
