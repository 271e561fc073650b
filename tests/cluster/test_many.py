"""Many executions that wait: a server goes on with all of them though it may open few files at first."""

import resource

from harness.clusters import Cluster
from noetl.ports import Wanted
from services import waited_for

WAITS = "workflow:\n- {step: start, tool: {name: w, kind: wait, events: [go]}}\n"
MANY = 128


def test_a_server_drives_more_executions_than_files_it_may_open_by_default(cluster: Cluster) -> None:
    cluster.store = f"sqlite:///{cluster.folder}/noetl.db"
    own = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (MANY, own[1]))
    try:
        server = cluster.server()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, own)
    cluster.worker()
    first = cluster.begin(WAITS, server)
    names = [first, *cluster.flooded(first, server, MANY)]
    with cluster.looking() as runtime:
        waited_for(lambda: runtime.store.owned(names) == {*names}, "it does not drive all of them")
        assert len(runtime.store.executions(Wanted(open=True))) == len(names)
    cluster.noetl("signal", first, "--name", "go", server=server)
    cluster.ended(first)
