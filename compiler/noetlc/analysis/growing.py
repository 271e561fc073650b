"""A net to which places and transitions are added beside those that it has."""

from collections.abc import Sequence

from noetlc.analysis.petri import Petri, arcs_of

_Rows = list[list[tuple[int, int]]]


class Growing:
    """The net so far, its arcs by transition in any order; `owners` are the rows that added transitions belong to."""

    def __init__(self, net: Petri) -> None:
        self._name = net.name
        self.places = [*net.places]
        self.initial = [*net.initial]
        self.ids = [*net.transitions]
        self.inputs: _Rows = [[*arcs] for arcs in net.inputs]
        self.outputs: _Rows = [[*arcs] for arcs in net.outputs]
        self.owners: list[int] = []

    def place(self, id: str, tokens: int) -> int:
        """The number of a new place."""
        self.places.append(id)
        self.initial.append(tokens)
        return len(self.places) - 1

    def add_row(self, id: str, ins: Sequence[tuple[int, int]], outs: Sequence[tuple[int, int]], owner: int) -> int:
        """The number of a new transition."""
        self.ids.append(id)
        self.inputs.append([*ins])
        self.outputs.append([*outs])
        self.owners.append(owner)
        return len(self.ids) - 1

    def mirror(self, id: str, of: int, tokens: int) -> int:
        """A new place that gets what another one loses by the transitions so far, and loses what that gets."""
        here = self.place(id, tokens)
        for ins, outs in zip(self.inputs, self.outputs, strict=True):
            lost = sum(weight for place, weight in ins if place == of)
            lost -= sum(weight for place, weight in outs if place == of)
            if lost:
                (outs if lost > 0 else ins).append((here, abs(lost)))
        return here

    def net(self) -> Petri:
        """The net as it is now."""
        return Petri(
            self._name,
            tuple(self.places),
            tuple(self.ids),
            tuple(map(arcs_of, self.inputs)),
            tuple(map(arcs_of, self.outputs)),
            tuple(self.initial),
        )
