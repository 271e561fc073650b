"""The notifier of a server rings for those who listen to an execution, and for nobody else."""

from noetl.api.notifier import Notifier


def test_it_rings_for_who_listens_to_the_execution() -> None:
    notifier, heard = Notifier(), list[str]()
    first = notifier.listen("e1", lambda: heard.append("first"))
    second = notifier.listen("e1", lambda: heard.append("second"))
    notifier.listen("e2", lambda: heard.append("other"))
    notifier.notify("e1")
    assert heard == ["first", "second"]
    first()
    first()
    notifier.notify("e1")
    notifier.notify("e3")
    assert heard == ["first", "second", "second"]
    second()
    notifier.notify("e1")
    assert len(heard) == 3


def test_who_hears_may_stop_listening() -> None:
    notifier, heard = Notifier(), list[str]()

    def once() -> None:
        heard.append("once")
        end()

    end = notifier.listen("e1", once)
    notifier.listen("e1", lambda: heard.append("always"))
    notifier.notify("e1")
    notifier.notify("e1")
    assert heard == ["once", "always", "always"]
