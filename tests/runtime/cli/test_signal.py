"""`noetl signal`: to a process that drives the execution, to one that is stopped, early, late and wrong."""

from typing import TYPE_CHECKING

from noetl.app.runtime import Settings, open_runtime

if TYPE_CHECKING:
    from conftest import Home

WAITS = """
workflow:
  - step: start
    tool:
      - listen: {kind: wait, events: [approval]}
      - use: {kind: noop, args: {by: "{{ listen.data.by }}"}}
"""


def test_a_signal_wakes_a_run_that_another_process_drives(home: "Home") -> None:
    child = home.start("run", home.plan(WAITS), until="start: started")
    execution = home.only()
    while "waits for signal approval" not in home.run("status", execution).stdout:
        assert child.poll() is None
    assert home.run("signal", execution, "--name", "approval", "--data", '{"by": "me"}').returncode == 0
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert '{"by": "me"}' in output


def test_a_signal_for_a_run_that_nobody_drives_is_kept_until_it_goes_on(home: "Home") -> None:
    child = home.start("run", home.plan(WAITS), until="start: started")
    execution = home.only()
    child.kill()
    child.wait()
    shown = home.run("signal", execution, "--name", "approval", "--data", '{"by": "night"}')
    assert (shown.returncode, "recorded" in shown.stdout) == (0, True)
    document = home.json("resume", execution)
    assert isinstance(document, dict)
    assert (document["status"], document["result"]) == ("completed", {"by": "night"})
    assert home.run("signal", execution, "--name", "approval").returncode == 1


def test_a_signal_passes_none_that_a_process_which_died_has_not_read(home: "Home") -> None:
    other = "- other: {kind: wait, events: [approval]}"
    two = WAITS.replace("- use:", f"{other}\n      - use:").replace("args: {", "args: {then: '{{ other.data.by }}', ")
    child = home.start("run", home.plan(two), until="start: started")
    execution = home.only()
    child.kill()
    child.wait()
    with open_runtime(
        f"sqlite:///{home.folder / '.noetl/noetl.db'}", Settings(root=home.folder), lambda path: (b"", {})
    ) as runtime:
        runtime.store.post(execution, "signal", {"name": "approval", "data": {"by": "first"}})
    assert home.run("signal", execution, "--name", "approval", "--data", '{"by": "second"}').returncode == 0
    document = home.json("resume", execution)
    assert isinstance(document, dict)
    assert document["result"] == {"by": "first", "then": "second"}


def test_what_is_no_json_is_wrong_usage(home: "Home") -> None:
    assert home.run("signal", "x", "--name", "a", "--data", "{").returncode == 2


UNDER_KEY = """
workload: {order: 7}
workflow:
  - {step: start, tool: {name: w, kind: wait, events: [paid], correlation: "order {{ workload.order }}"}}
"""


def test_a_signal_under_a_key_finds_the_run_or_is_kept_for_it(home: "Home") -> None:
    plan = home.plan(UNDER_KEY)
    child = home.start("run", plan, until="start: started")
    execution = home.only()
    while not home.json("signals"):  # the log says that it waits before the mailbox lists it
        assert child.poll() is None
    assert "also under the key `order 7`" in home.run("status", execution).stdout
    sent = home.json("signal", "--key", "order 7", "--name", "paid", "--data", "1")
    assert sent == {"key": "order 7", "signal": "paid", "delivered": True}
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 0 and '{"name": "paid", "data": 1}' in output
    kept = home.run("signal", "--key", "order 7", "--name", "paid", "--data", "2", "--keep-for", "1h")
    assert (kept.returncode, kept.stdout) == (
        0,
        "signal paid under `order 7`: kept for 1 h 00 m, as nobody waits for it\n",
    )
    document = home.json("run", plan)
    assert isinstance(document, dict)
    assert document["result"] == {"name": "paid", "data": 2}


def test_a_signal_under_a_key_waits_for_the_run_that_is_killed(home: "Home") -> None:
    child = home.start("run", home.plan(UNDER_KEY), until="start: started")
    execution = home.only()
    while "also under the key" not in home.run("status", execution).stdout:
        assert child.poll() is None
    child.kill()
    child.wait()
    home.run("signal", "--key", "order 7", "--name", "paid", "--data", "3")
    document = home.json("resume", execution)
    assert isinstance(document, dict)
    assert (document["status"], document["result"]) == ("completed", {"name": "paid", "data": 3})
    assert home.run("replay", execution).returncode == 0


def test_either_an_execution_or_a_key(home: "Home") -> None:
    for wrong in (
        ("x", "--key", "k"),
        (),
        ("--key", ""),
        ("--key", "k", "--keep-for", "soon"),
        ("x", "--keep-for", "1h"),
    ):
        refused = home.run("signal", *wrong, "--name", "a")
        assert refused.returncode == 2, wrong
    assert "give either the ID of an execution, or --query, or --key" in home.run("signal", "--name", "a").stderr


def test_what_is_kept_under_keys_and_who_waits_there_is_listed(home: "Home") -> None:
    absent = home.run("signals")
    assert (absent.returncode, absent.stdout) == (1, "") and "there is no store" in absent.stderr
    child = home.start("run", home.plan(UNDER_KEY), until="start: started")
    execution = home.only()
    while not home.json("signals"):
        assert child.poll() is None
    for key, name in (("order 8", "paid"), ("order 8", "paid"), ("a\tb", "\x1b[1m")):
        home.run("signal", "--key", key, "--name", name, "--data", '"secret"', "--keep-for", "2d")
    shown = home.run("signals").stdout
    head, tab, mine, other = shown.splitlines()
    assert head.split("  ")[0] == "KEY" and "\x1b" not in tab and "secret" not in shown
    assert mine.split() == ["order", "7", "paid", execution]
    assert other.split()[:4] == ["order", "8", "paid", "2"]
    rows = home.json("signals", "--prefix", "order", "--limit", "1")
    assert isinstance(rows, list) and [row["waits"] for row in rows] == [[execution]]
    rows = home.json("signals", "--key", "order 8")
    assert isinstance(rows, list) and [(row["key"], row["kept"], row["waiting"]) for row in rows] == [("order 8", 2, 0)]
    child.kill()
    child.wait()
