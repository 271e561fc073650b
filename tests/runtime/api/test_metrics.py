"""Figures of servers and workers, as Prometheus reads them; and the dashboard and alerts over them."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from harness.running import HEAD
from harness.serving import Served, served, until
from noetl.api.gateway.groups import ServerGroup
from noetl.api.gateway.metrics import gateway_metrics
from noetl.api.gateway.upstream import Upstream
from noetl.app.code_labels import OF_EXECUTIONS, CodeLabels
from noetl.app.measuring import EventMeasures, reason_of
from noetl.app.worker_metrics import WorkerMeasures, metrics_served
from noetl.host.engine_faults import CODE
from noetl.host.measures import FAMILIES, GATEWAY, MOST, FigureFamily, Measures
from noetl.ports import Conflict, NoRoom, StoreFailure, StoreRefused
from noetl.server.triggers.document import KINDS
from noetl_ir.error_codes import ERRORS
from noetl_ir.events import Event
from noetl_ir.expr import Literal
from noetl_ir.outcome import Outcome, error

ROOT = Path(__file__).parents[3]
RETRIED = f"""{HEAD}
workflow:
  - step: start
    tool:
      name: call
      kind: python
      code: |
        raise ValueError("no")
      spec:
        policy:
          rules:
            - when: "{{{{ outcome.status == 'error' and _attempt < 3 }}}}"
              then: {{do: retry, attempts: 3, delay: 0.01}}
            - else: {{then: {{do: fail}}}}
"""
WAITS = f"{HEAD}workflow:\n  - {{step: start, tool: {{name: w, kind: wait, events: [go]}}}}\n"


def figures(text: str) -> dict[str, float]:
    """The samples of a text, as its own parser reads them."""
    return {
        f"{sample.name}{sorted(sample.labels.items()) if sample.labels else ''}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def of_server(up: Served) -> dict[str, float]:
    return figures(up.client.get("/metrics").text)


def test_what_a_run_leaves(tmp_path: Path) -> None:
    with served(tmp_path) as up:
        assert up.client.post("/playbooks", content=RETRIED).status_code == 201
        one = up.start()
        until(lambda: up.status(one) == "failed")
        found = of_server(up)
        assert found["noetl_executions_started_total[('playbook', 't/t')]"] == 1
        assert found["noetl_executions_ended_total[('playbook', 't/t'), ('status', 'failed')]"] == 1
        assert found["noetl_execution_failures_total[('code', 'python.exception')]"] == 1
        assert found["noetl_task_retries_total[('code', 'python.exception')]"] == 2
        assert found["noetl_task_attempts_total[('kind', 'python'), ('status', 'error')]"] == 3
        assert found["noetl_task_seconds_count[('kind', 'python')]"] == 3
        assert found["noetl_task_seconds_bucket[('kind', 'python'), ('le', '+Inf')]"] == 3
        assert 0 < found["noetl_task_seconds_sum[('kind', 'python')]"] < 60
        assert found["noetl_queue_seconds_count[('pool', 'default')]"] == 1
        assert found["noetl_execution_seconds_count[('playbook', 't/t')]"] == 1
        log = up.client.get(f"/executions/{one}/events").json()["events"]
        assert found["noetl_events_total"] == len(log)
        assert found["noetl_commit_seconds_count"] >= 3 and found["noetl_round_seconds_count"] >= 3
        assert found["noetl_requests_total[('operation', 'start_execution'), ('status', '201')]"] == 1
        assert found["noetl_request_seconds_count[('operation', 'register')]"] == 1


def test_a_wait_is_no_order_that_waits(tmp_path: Path) -> None:
    with served(tmp_path) as up:
        assert up.client.post("/playbooks", content=WAITS).status_code == 201
        one = up.start()
        until(lambda: "signal" in up.client.get(f"/executions/{one}").text)
        until(lambda: not any(name.startswith("noetl_oldest_order_seconds") for name in of_server(up)))


def test_no_label_has_values_without_end() -> None:
    measures = Measures((FigureFamily("noetl_x", "X.", ("playbook", "status")),))
    for number in range(5 * MOST):
        measures.count("noetl_x", f'p"{number}\n\\', "ok")
    found = figures(measures.text())
    assert len(found) == MOST + 1
    assert found["noetl_x_total[('playbook', 'other'), ('status', 'ok')]"] == 4 * MOST
    assert found["""noetl_x_total[('playbook', 'p"0\\n\\\\'), ('status', 'ok')]"""] == 1


def test_documented_codes_have_their_places() -> None:
    measures = Measures()
    for number in range(2 * MOST):
        measures.count("noetl_task_retries", f"own.{number}")
    measures.count("noetl_task_retries", "http.status")
    found = figures(measures.text())
    assert found["noetl_task_retries_total[('code', 'http.status')]"] == 1
    assert found["noetl_task_retries_total[('code', 'other')]"] > MOST
    assert len([name for name in found if name.startswith("noetl_task_retries_total")]) <= MOST + 1


def test_labels_are_bounded_and_utf_8() -> None:
    measures = Measures((FigureFamily("noetl_x", "X.", ("playbook",)),))
    for text in ("\ud800x", "\udfffx", "é" * 250_000, "é" * 250_001):
        measures.count("noetl_x", text)
    data = measures.text().encode()
    assert len(data) < 1_000
    found = figures(data.decode())
    assert found["noetl_x_total[('playbook', '?x')]"] == 2
    assert sorted(found.values()) == [2, 2]
    assert "noetl_worker_slots" in WorkerMeasures("\udcff", 1).text().encode().decode()


CODES = f"""{HEAD}
workload: {{code: said}}
workflow:
  - step: start
    tool: {{name: f, kind: fail, code: "{{{{ workload.code }}}}"}}
"""
LITERAL = f"""{HEAD}
workflow:
  - step: start
    tool:
      name: call
      kind: python
      code: raise ValueError("no")
      spec:
        policy:
          rules:
            - else: {{then: {{do: fail, code: orders.late}}}}
"""


def test_a_code_of_a_run_is_no_label(tmp_path: Path) -> None:
    failures, of_json = "noetl_execution_failures_total", {"content-type": "application/json"}
    with served(tmp_path) as up:
        assert up.client.post("/playbooks", content=CODES).status_code == 201
        codes = ["\ud800x", "pg.error", *(f"{number}" * 1_000 for number in range(5))]
        for code in codes:
            body = json.dumps({"path": "t/t", "payload": {"code": code}})
            one = up.client.post("/executions", content=body, headers=of_json).json()["execution_id"]
            until(lambda one=one: up.status(one) == "failed")  # type: ignore[misc]
        assert up.client.post("/playbooks", content=LITERAL.replace("t/t", "t/l")).status_code == 201
        one = up.client.post("/executions", json={"path": "t/l"}).json()["execution_id"]
        until(lambda: up.status(one) == "failed")
        found = {name: count for name, count in of_server(up).items() if name.startswith(failures) and count}
    assert found == {
        f"{failures}[('code', 'other')]": 6,
        f"{failures}[('code', 'pg.error')]": 1,
        f"{failures}[('code', 'orders.late')]": 1,
    }


def test_what_stands_in_a_fail_task_is_a_label_cut_to_64() -> None:
    plan = cast("Any", SimpleNamespace(tasks=[task_that_fails("  a.b "), task_that_fails("c" * 100)]))
    plan.templates = [Literal({"code": task.code}) for task in plan.tasks]
    program = cast("Any", SimpleNamespace(plan=plan, digest="d"))
    labels = CodeLabels()
    codes = ["a.b", "c" * 100, "c" * 99, "limit.tokens", "timeout", None, "engine.fault"]
    assert [labels.label(program, {"code": code}) for code in codes] == [
        "a.b", "c" * 64, "other", "limit.tokens", "timeout", "unknown", "engine.fault",
    ]  # fmt: skip
    assert labels.label(program, None) == "unknown"


def task_that_fails(code: str) -> Any:
    return SimpleNamespace(kind="fail", fields=0 if code.startswith(" ") else 1, rules=(), code=code)


def test_each_code_of_the_engine_is_a_label() -> None:
    said = set[str]()
    for path in (ROOT / "runtime/noetl/engine").glob("*.py"):
        said |= {*re.findall(r'(?:Fault\(|\bcode=|"code": )"([a-z_.]+)"', path.read_text("utf-8"))}
    # What a run that was cut off is shown with, while it is not over, is no code that anything fails with.
    assert said - ERRORS.keys() - OF_EXECUTIONS - {"interrupted"} == set()
    assert len(said) > 15 and said >= OF_EXECUTIONS - {"rule.delay", CODE, "kind.unknown", "report.refused"}


def test_buckets_are_those_of_prometheus() -> None:
    measures = Measures((FigureFamily("noetl_x_seconds", "X.", (), (0.1, 1.0)),))
    for seconds in (-5.0, 0.1, 0.2, 1.0, 7.0):
        measures.observe("noetl_x_seconds", seconds)
    found = figures(measures.text())
    assert [found[f"noetl_x_seconds_bucket[('le', '{le}')]"] for le in ("0.1", "1.0", "+Inf")] == [2, 4, 5]
    assert (found["noetl_x_seconds_count"], found["noetl_x_seconds_sum"]) == (5, 8.3)


def test_a_worker_answers_with_its_own() -> None:
    measures = WorkerMeasures("gpu", 4)
    measures.worker = cast("Any", SimpleNamespace(busy=3, leaving=False))
    call = cast("Any", SimpleNamespace(kind="http"))
    measures.tool_ended(call, Outcome("ok"), 0.2)
    measures.tool_ended(call, error("http.status_500", "no"), 2)
    with metrics_served("127.0.0.1", 0, measures.text) as port:
        response = httpx.get(f"http://127.0.0.1:{port}/metrics")
        assert httpx.get(f"http://127.0.0.1:{port}/other").status_code == 404
    found = figures(response.text)
    assert found["noetl_worker_busy_slots[('pool', 'gpu')]"] == 3
    assert found["noetl_worker_tools_total[('kind', 'http'), ('status', 'error')]"] == 1
    assert found["noetl_worker_tool_seconds_count[('kind', 'http')]"] == 2


def names_told(up: Served) -> set[str]:
    """All names that servers and workers tell, those of samples that there may be, too."""
    found: set[str] = set()
    groups = Upstream({"a": ServerGroup("a", ("http://localhost:1",))}, lambda line: None)
    texts = up.client.get("/metrics").text + WorkerMeasures("p", 1).text()
    texts += gateway_metrics(groups, Measures(GATEWAY)).decode()
    for line in texts.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            found |= {f"{name}_{part}" for part in ("bucket", "sum", "count")} if kind == "histogram" else {name}
    return found


def test_dashboard_and_alerts_ask_for_what_there_is(tmp_path: Path) -> None:
    dashboard = json.loads((ROOT / "deploy/grafana/noetl.json").read_text("utf-8"))
    rules = yaml.safe_load((ROOT / "deploy/prometheus/noetl.rules.yaml").read_text("utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    asked += [one["query"]["query"] for one in dashboard["templating"]["list"] if isinstance(one["query"], dict)]
    alerts = [rule for group in rules["groups"] for rule in group["rules"]]
    assert len(asked) > 25 and len(alerts) > 10
    assert {rule["labels"]["severity"] for rule in alerts} == {"critical", "warning"}
    assert all({"summary", "description"} <= rule["annotations"].keys() for rule in alerts)
    with served(tmp_path) as up:
        known = names_told(up)
    named = {name for text in (*asked, *(rule["expr"] for rule in alerts)) for name in re.findall(r"\bnoetl_\w+", text)}
    assert named - known == set()
    shown = {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in named}
    assert {family.name for family in FAMILIES} - shown == set(), "what is counted is shown"
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))


def selected(found: dict[str, float], name: str, selector: str) -> list[float]:
    """The samples of a counter that a selector of PromQL takes."""
    asked = re.findall(r'(\w+)(=~|!=|=)"([^"]*)"', selector)
    values = []
    for sample, value in found.items():
        if sample.partition("[")[0] == name:
            labels = dict(re.findall(r"\('(\w+)', '([^']*)'\)", sample))
            if all(
                re.fullmatch(text, labels[label]) if how == "=~" else (labels[label] == text) is (how == "=")
                for label, how, text in asked
            ):
                values.append(value)
    return values


def test_each_counter_of_an_alert_is_there_before_its_first_event(tmp_path: Path) -> None:
    # `rate` and `increase` take the difference of two looks: a series that appears with 1 has none.
    rules = yaml.safe_load((ROOT / "deploy/prometheus/noetl.rules.yaml").read_text("utf-8"))
    text = " ".join(rule["expr"] for group in rules["groups"] for rule in group["rules"])
    asked = set(re.findall(r"(?:rate|increase)\((noetl_\w+_total)(?:\{([^}]*)\})?\[", text))
    assert len(asked) >= 8
    of_runs = {"noetl_executions_ended_total", "noetl_lost_claims_total"}
    with served(tmp_path) as up:
        found = of_server(up)
        missing = {name for name, selector in asked if not selected(found, name, selector)}
        assert missing == of_runs, "what has the name of a playbook, or of a pool, cannot be there before it"
        assert up.client.post("/playbooks", content=WAITS).status_code == 201
        up.start()
        until(lambda: "noetl_lost_claims_total[('pool', 'default')]" in of_server(up))
        found = of_server(up)
    for name, selector in asked:
        values = selected(found, name, selector)
        assert values, (name, selector)
        assert name == "noetl_requests_total" or not any(values)
    ended = {sample: value for sample, value in found.items() if sample.startswith("noetl_executions_ended_total")}
    assert ended == {
        f"noetl_executions_ended_total[('playbook', 't/t'), ('status', '{status}')]": 0
        for status in ("blocked", "cancelled", "completed", "failed")
    }


def test_what_is_there_from_the_beginning_is_all_that_is_counted() -> None:
    known = {family.name: {*family.known} for family in FAMILIES}
    assert known["noetl_trigger_starts"] == {(kind,) for kind in KINDS}
    assert known["noetl_trigger_refusals"] == {
        ("webhook", "unsigned"), *((kind, why) for kind in KINDS for why in ("dead", "later")),
    }  # fmt: skip
    problems = (NoRoom("x", "y"), StoreRefused("x"), Conflict("x"), StoreFailure("x"))
    assert known["noetl_store_errors"] == {(reason_of(problem),) for problem in problems}
    assert {code for (code,) in known["noetl_execution_failures"]} == ERRORS.keys()


def test_the_page_has_a_row_for_each(tmp_path: Path) -> None:
    page = (ROOT / "runtime/README.md").read_text("utf-8")
    section = page[page.index("### Metrics") :]
    section = section[: section.index("\n## ")]
    listed = set(re.findall(r"`(noetl_\w+)`", section))
    with served(tmp_path) as up:
        known = {re.sub(r"_(bucket|sum|count)$", "", name) for name in names_told(up)}
    assert listed == known


def test_an_order_waits_until_a_worker_begins_it_or_another_server_goes_on() -> None:
    events = EventMeasures(Measures())
    step, task = SimpleNamespace(pool="gpu"), SimpleNamespace(kind="python")
    program = cast(
        "Any", SimpleNamespace(plan=SimpleNamespace(path="t/t", name="t", steps=[step], tasks=[task]), digest="d")
    )
    execution = cast("Any", SimpleNamespace(execution_id="x1", status="running", started=0))

    def take(event_type: str, ts: int, run: str = "1") -> None:
        data = {"status": "ok"} if event_type == "task.done" else {}
        events.observe(execution, program, Event("e", event_type, ts, 0, run, 0, 1, 1, 1, (), data))

    take("step.started", 5)
    take("step.started", 7, "2")
    assert events.oldest_orders({"x1"}) == {"gpu": 5}
    take("task.started", 9)
    assert events.oldest_orders({"x1"}) == {"gpu": 7}
    take("step.cancelled", 10, "2")
    assert events.oldest_orders({"x1"}) == {}
    take("loop.iteration.started", 11, "3/0")
    take("step.failed", 12, "3")
    assert events.oldest_orders({"x1"}) == {}
    take("step.started", 13, "4")
    assert events.oldest_orders(set()) == {} == events.oldest_orders({"x1"})


@pytest.mark.parametrize("trouble", [None, "the database is away"])
def test_a_store_that_is_away_is_told_and_hides_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str | None
) -> None:
    with served(tmp_path) as up:
        stand = up.service.standing()._replace(trouble=trouble)
        monkeypatch.setattr(up.service, "standing", lambda: stand)
        asked = []

        def away(*_: object) -> dict[str, int]:
            asked.append(1)
            raise StoreFailure("the database is away")

        monkeypatch.setattr(up.runtime.store, "counts", away)
        found = of_server(up)
        assert found["noetl_store_failing"] == (trouble is not None) and "noetl_busy_slots" in found
        # Once it is known nobody waits for it: who scrapes gives up after ten seconds.
        assert asked == ([] if trouble else [1])
