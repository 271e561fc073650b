"""A developer's script, never shipped: pictures of the page, taken in Chromium of a server that ran real playbooks.

Run it as `tools/screenshots [FOLDER]`; the folder is `docs`, where the README has them.
"""

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from harness.browsing import CHROMIUM, Listener, chromium, listening, page_of
from harness.serving import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parent.parent
SIZE = {"width": 1180, "height": 900}
LARGEST = 150_000
"""The most bytes of a picture: they lie in the repository."""

_ORDER = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: order, path: shop/order}
workload: {quantity: 3, unit_price: 19.5, truck: true}
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: price}, {step: stock}]}
  - step: price
    tool: {kind: shell, command: "sleep 0.2; echo 58.5"}
    next: {arcs: [{step: quote}]}
  - step: stock
    tool:
      name: count
      kind: python
      args: {tries: "{{ workload.quantity }}"}
      code: |
        import time
        time.sleep(0.15)
        print("asked the warehouse")
        result = tries <= 7
    next: {arcs: [{step: quote}]}
  - step: quote
    spec: {policy: {join: all}}
    tool: {kind: noop, result: {total: "{{ workload.quantity * workload.unit_price }}"}}
    next: {arcs: [{step: approve}]}
  - step: approve
    tool: {name: w, kind: wait, events: [approved, refused]}
    next:
      spec: {mode: exclusive}
      arcs: [{step: ship, when: "{{ approve.name == 'approved' and workload.truck }}"}, {step: reject}]
  - step: ship
    loop: {in: "{{ range(workload.quantity) | list }}", iterator: box}
    tool: {kind: shell, command: "sleep 0.1; echo box {{ iter.box }} is on its way"}
  - step: reject
    tool: {kind: fail, code: order.rejected, message: nobody ships it}
"""
# What lint finds in it, and what changed in it.
_NEXT = _ORDER.replace(
    "message: nobody ships it}\n",
    "message: nobody ships it}\n    next: {arcs: [{step: tell}]}\n"
    '  - {step: tell, tool: {kind: shell, command: "echo sorry"}}\n',
)


def _worked(server: Listener) -> str:
    """Register and run; the execution that was shipped."""
    server.register(_ORDER)
    for name in ("refund", "report"):
        server.register(_ORDER.replace("shop/order", f"shop/{name}"))
    begun = [server.start("shop/order", quantity=quantity) for quantity in (5, 2, 4)]
    begun += [server.start(f"shop/{name}") for name in ("refund", "report", "report")]
    server.register(_NEXT)
    for one in begun:
        until(lambda one=one: any(row.get("signals") for row in server.api.get(f"/executions/{one}").json()["now"]))
    for one, name in zip(begun, ("approved", "refused", "", "approved", "approved", ""), strict=True):
        if name:
            server.api.post(f"/executions/{one}/signal", json={"name": name})
    until(lambda: server.api.get("/counts").json()["running"] == 2)
    return begun[0]


def _take(page: "Page", to: Path) -> None:
    page.wait_for_timeout(600)  # what is drawn after what was waited for
    page.screenshot(path=to)
    size = to.stat().st_size
    assert size <= LARGEST, f"{to} has {size:,} bytes, more than {LARGEST:,}"
    print(f"{to}: {size:,} bytes")


def take_all(browser: "Browser", folder: Path) -> None:
    """Take all pictures into a folder."""
    with tempfile.TemporaryDirectory() as store, listening(Path(store)) as server:
        shipped = _worked(server)
        with page_of(browser, viewport=SIZE, color_scheme="light") as page:
            page.goto(server.url)
            page.locator(".badge.failed").first.wait_for()
            page.set_viewport_size({**SIZE, "height": 480})
            _take(page, folder / "page-executions.png")
            page.set_viewport_size(SIZE)
            page.goto(f"{server.url}/#/executions/{shipped}?step=stock")
            page.get_by_text("asked the warehouse").wait_for()
            page.locator(".lane").first.wait_for()
            _take(page, folder / "page-execution.png")
        with page_of(browser, viewport=SIZE, color_scheme="dark") as page:
            page.goto(f"{server.url}/#/playbooks/shop%2Forder?version=2&with=1")
            page.locator(".told").first.wait_for()
            page.locator(".changes li").first.wait_for()
            page.locator(".told").last.evaluate(
                "one => scrollBy(0, one.getBoundingClientRect().bottom + 60 - innerHeight)"
            )
            _take(page, folder / "page-playbook.png")


if __name__ == "__main__":
    if CHROMIUM is None:
        sys.exit("tools/screenshots: there is no Chromium here (Debian: apt-get install chromium)")
    with chromium() as started:
        take_all(started, Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
