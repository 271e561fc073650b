"""pm4py: the reachability graph of a net.

    python -P pm4py.py FILE 0

Prints {"seconds": …, "count": states} as its only line on standard output.
"""

import json
import sys
import time

from pm4py.objects.petri_net.obj import Marking, PetriNet
from pm4py.objects.petri_net.utils.petri_utils import add_arc_from_to
from pm4py.objects.petri_net.utils.reachability_graph import marking_flow_petri


def read(path: str) -> tuple[PetriNet, Marking]:
    with open(path) as file:
        document = json.load(file)
    net = PetriNet("net")
    places = [PetriNet.Place(f"p{number}") for number in range(document["places"])]
    net.places.update(places)
    for number, (takes, makes) in enumerate(document["transitions"]):
        transition = PetriNet.Transition(f"t{number}", f"t{number}")
        net.transitions.add(transition)
        for place in takes:
            add_arc_from_to(places[place], transition, net)
        for place in makes:
            add_arc_from_to(transition, places[place], net)
    return net, Marking({places[number]: 1 for number in document["initial"]})


def main(path: str) -> dict[str, float]:
    net, marking = read(path)
    begun = time.perf_counter()
    _, outgoing, _ = marking_flow_petri(net, marking)
    seconds = time.perf_counter() - begun
    return {"seconds": seconds, "count": len(outgoing)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])), flush=True)
