"""SNAKES: the state graph of a net.

    python -P snakes.py FILE 0

Prints {"seconds": …, "count": states} as its only line on standard output.
"""

import json
import sys
import time

from snakes.nets import PetriNet, Place, StateGraph, Transition, Value, dot


def read(path: str) -> PetriNet:
    with open(path) as file:
        document = json.load(file)
    marked = set(document["initial"])
    net = PetriNet("net")
    for number in range(document["places"]):
        net.add_place(Place(f"p{number}", [dot] if number in marked else []))
    for number, (takes, makes) in enumerate(document["transitions"]):
        net.add_transition(Transition(f"t{number}"))
        for place in takes:
            net.add_input(f"p{place}", f"t{number}", Value(dot))
        for place in makes:
            net.add_output(f"p{place}", f"t{number}", Value(dot))
    return net


def main(path: str) -> dict[str, float]:
    graph = StateGraph(read(path))
    begun = time.perf_counter()
    graph.build()
    seconds = time.perf_counter() - begun
    return {"seconds": seconds, "count": len(graph)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])), flush=True)
