"""`noetl notifications` and `noetl dead-letters`: beside a store and at a server alike."""

from typing import TYPE_CHECKING

from noetl.app.runtime import Settings, open_runtime
from noetl.ports.outbox import OutboxRow, Telling

if TYPE_CHECKING:
    from conftest import Home

GOOD = """\
apiVersion: noetl.io/v2
kind: Notification
metadata: {name: ops/oncall}
spec:
  on: [failed, recovered]
  playbooks: ["etl/*"]
  to:
    slack: {credential: slack}
"""


def kept(home: "Home", text: str = GOOD) -> str:
    (home.folder / "oncall.yaml").write_text(text)
    return "oncall.yaml"


def test_notifications_are_kept_told_of_and_deleted(home: "Home") -> None:
    assert "ops/oncall" in home.run("notifications", "put", kept(home)).stdout
    with home.serving() as (_, url):
        for place in ((), ("--server", url)):
            (row,) = home.json("notifications", "list", *place)  # type: ignore[misc]
            assert (row["name"], row["on"], row["to"], row["paused"]) == (
                "ops/oncall", ["failed", "recovered"], "slack", False,
            )  # fmt: skip
            assert "paused" in home.run("notifications", "pause", "ops/oncall", *place).stdout
            home.run("notifications", "resume", "ops/oncall", *place)
            assert '"playbooks"' in home.run("notifications", "show", "ops/oncall", *place).stdout
            wrong = home.run("notifications", "show", "ops/oncal", *place)
            assert (wrong.returncode, "did you mean `ops/oncall`?" in wrong.stderr) == (1, True)
        put = home.run("notifications", "put", kept(home, GOOD.replace("slack:", "slak:")), "--server", url)
        assert (put.returncode, "oncall.yaml:8:5: `spec.to` has no key `slak`" in put.stderr) == (1, True)
        assert home.run("notifications", "delete", "ops/oncall", "--server", url).returncode == 0
    assert "no notifications" in home.run("notifications", "list").stderr


def test_a_credential_that_is_not_there_is_told(home: "Home") -> None:
    why = "there is no credential `slack` here: `noetl credential add slack --secret url` beside each server keeps one"
    with home.serving() as (_, url):
        for place in ((), ("--server", url)):
            put = home.run("notifications", "put", kept(home), *place)
            assert put.stderr.startswith(f"warning: oncall.yaml:8:13: it is kept, but {why}; messages wait for it")
            assert put.stderr.count("there is no credential") == 1
            (row,) = home.json("notifications", "list", *place)  # type: ignore[misc]
            assert row["trouble"] == why
        home.run("credential", "add", "slack", "--secret", "url", stdin="http://127.0.0.1:9/\n")
        for place in ((), ("--server", url)):
            assert "credential" not in home.run("notifications", "put", kept(home), *place).stderr
            (row,) = home.json("notifications", "list", *place)  # type: ignore[misc]
            assert row["trouble"] is None
        address = GOOD.replace("{credential: slack}", "{url: 'http://127.0.0.1:9/', credential: other}")
        put = home.run("notifications", "put", kept(home, address), "--server", url)
        assert "`noetl credential add other` beside" in put.stderr


def test_what_is_kept_beside_a_store_says_who_carries_it_out(home: "Home") -> None:
    said = "the servers of the store carry notifications out: where none runs, `noetl server` is one\n"
    assert home.run("notifications", "put", kept(home)).stderr.endswith(said)
    with home.serving() as (_, url):
        assert "carry" not in home.run("notifications", "put", kept(home), "--server", url).stderr
    assert "carry" not in home.run("notifications", "list").stderr


def test_of_several_files_none_is_kept_where_one_has_a_slip(home: "Home") -> None:
    kept(home)
    (home.folder / "b.yaml").write_text(GOOD.replace("ops/oncall", "ops/other").replace("slack:", "slak:"))
    put = home.run("notifications", "put", "oncall.yaml", "b.yaml")
    assert (put.returncode, put.stdout) == (1, "")
    assert put.stderr == "error: b.yaml:8:5: `spec.to` has no key `slak`; did you mean `slack`?\n"
    assert "there is no store" in home.run("notifications", "list").stderr


def test_of_several_those_before_one_that_fails_are_named(home: "Home") -> None:
    trigger = "apiVersion: noetl.io/v2\nkind: Trigger\nmetadata: {name: NAME}\nspec: {playbook: t, after: {playbook: x}"
    (home.folder / "a.yaml").write_text(trigger.replace("NAME", "a") + "}\n")
    # That `nobody` is not there, the compiler alone can say.
    (home.folder / "b.yaml").write_text(trigger.replace("NAME", "b") + ", inputs: {n: '{{ nobody.n }}'}}\n")
    put = home.run("triggers", "put", "a.yaml", "b.yaml")
    assert (put.returncode, "kept before this: a.yaml\nerror: b.yaml:4" in put.stderr) == (1, True), put.stderr
    assert [row["name"] for row in home.json("triggers", "list")] == ["a"]  # type: ignore[index, union-attr, call-overload]


def test_a_document_of_another_kind_is_told_where_it_belongs(home: "Home") -> None:
    put = home.run("notifications", "put", kept(home, GOOD.replace("Notification", "Schedule")))
    assert (put.returncode, "`noetl schedules put` keeps those" in put.stderr) == (1, True)


def test_dead_letters_are_listed_tried_again_and_dropped(home: "Home") -> None:
    home.run("notifications", "put", kept(home))
    with open_runtime(
        f"sqlite:///{home.folder}/.noetl/noetl.db", Settings(root=home.folder), lambda _: (b"", {})
    ) as runtime:
        assert isinstance(runtime.store, Telling)
        outbox = runtime.store.outbox
        outbox.put_outbox([OutboxRow(0, "nobody:x", f"s{number}", None, 1, 1) for number in range(2)])
        for number in (1, 2):
            outbox.put_off_outbox(number, 1, "no answer", dead=True)
    with home.serving() as (_, url):
        for place in ((), ("--server", url)):
            rows = home.json("dead-letters", "list", *place)
            assert [(row["number"], row["reason"]) for row in rows] == [(1, "no answer"), (2, "no answer")]  # type: ignore[attr-defined]
        assert "no answer" in home.run("dead-letters", "list").stdout
        assert home.run("dead-letters", "retry", "1", "--server", url).returncode == 0
        assert home.run("dead-letters", "retry", "1").returncode == 1
        assert home.run("dead-letters", "drop", "1", "--server", url).returncode == 1, "it is dead no more"
        assert home.run("dead-letters", "drop", "2").returncode == 0
        # Told of alike, whoever did it.
        assert home.run("notifications", "test", "ops/oncall").returncode == 0
        rows = home.json("audit", "--outcome", "asked")
        deeds = [(row["via"], row["deed"], row["subject"]) for row in reversed(rows)]  # type: ignore[call-overload,index]
        assert deeds == [
            ("api", "dead-letter-retry", "1"), ("cli", "dead-letter-retry", "1"), ("api", "dead-letter-drop", "1"),
            ("cli", "dead-letter-drop", "2"), ("cli", "notification-test", "ops/oncall"),
        ]  # fmt: skip
    assert "noetl triggers show NAME" in home.run("dead-letters", "list").stderr
