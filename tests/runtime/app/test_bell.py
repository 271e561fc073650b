"""The bell of a server rings for those who listen to an execution, and for nobody else."""

from noetl.app.desk import Bell


def test_it_rings_for_who_listens_to_the_execution() -> None:
    bell, heard = Bell(), list[str]()
    first = bell.listen("e1", lambda: heard.append("first"))
    second = bell.listen("e1", lambda: heard.append("second"))
    bell.listen("e2", lambda: heard.append("other"))
    bell.ring("e1")
    assert heard == ["first", "second"]
    first()
    first()
    bell.ring("e1")
    bell.ring("e3")
    assert heard == ["first", "second", "second"]
    second()
    bell.ring("e1")
    assert len(heard) == 3


def test_who_hears_may_stop_listening() -> None:
    bell, heard = Bell(), list[str]()

    def once() -> None:
        heard.append("once")
        end()

    end = bell.listen("e1", once)
    bell.listen("e1", lambda: heard.append("always"))
    bell.ring("e1")
    bell.ring("e1")
    assert heard == ["once", "always", "always"]
