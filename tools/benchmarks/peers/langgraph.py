"""LangGraph with the SQLite checkpointer: one noop node that runs N times, a checkpoint after each.

    python -P langgraph.py steps N

Prints {"seconds": …, "count": N, "peak_kb": …} as its only line on standard output. `-P` keeps this file's
folder off the path, where it would hide the package of its name.
"""

import json
import resource
import sys
import tempfile
import time
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    done: int


def main(count: int, database: str) -> float:
    graph = StateGraph(State)
    graph.add_node("noop", lambda state: {"done": state["done"] + 1})
    graph.add_edge(START, "noop")
    graph.add_conditional_edges("noop", lambda state: "noop" if state["done"] < count else END)
    with SqliteSaver.from_conn_string(database) as saver:
        program = graph.compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "bench"}, "recursion_limit": count + 10}
        begun = time.perf_counter()
        program.invoke({"done": 0}, config, durability="sync")
        return time.perf_counter() - begun


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        seconds = main(int(sys.argv[2]), f"{folder}/langgraph.sqlite")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "count": int(sys.argv[2]), "peak_kb": peak}))
