"""The last reading of a file that its text allowed, as questions about names need it."""

from noetlc.analysis.effort import STANDARD, Effort
from noetlc.analysis.extents import Extent, extents_of
from noetlc.ast.graph import graph_of, has_unknown_target
from noetlc.ast.phases import phase_of_steps
from noetlc.ast.playbook import Playbook
from noetlc.codegen.family import PlaybookCatalogue
from noetlc.lsp.shapes import ctx_of, result_of_step
from noetlc.pipeline import Compiled, compile_source
from noetlc.reading.around import Around
from noetlc.source.decoding import bytes_of
from noetlc.source.nodes import Node


class PlaybookView:
    """One playbook, with what questions about its names need of the whole, worked out once."""

    def __init__(self, playbook: Playbook) -> None:
        self.playbook = playbook
        self.around = Around(playbook)
        self.graph = graph_of(playbook)
        self.phases = phase_of_steps(playbook, self.graph)
        self.has_loose_ends = has_unknown_target(playbook)
        # Backwards, so that of two steps of one name the first one counts, as for the compiler.
        self.steps = {step.name: step for step in reversed(playbook.steps)}
        self.ctx = ctx_of(playbook)
        self.results = {name: result_of_step(self.steps[name]) for name in self.names_of_steps()}

    def names_of_steps(self) -> list[str]:
        """The names of the steps that people wrote, in their order."""
        return [step.name for step in self.playbook.steps if not step.name.startswith("__")]


class KnownFile:
    """A file that was read and checked. `source` is the text that was read, with lines blanked where it was broken."""

    def __init__(self, compiled: Compiled) -> None:
        self.source = compiled.source
        playbooks = [(one.node, one.playbook) for one in compiled.documents]
        self.documents = [(node, PlaybookView(one)) for node, one in playbooks if node is not None and one is not None]

    def document_at(self, line: int) -> tuple[Node, PlaybookView] | None:
        """The document that a line is in, with its root; the nearest one above it, or the first."""
        above = [one for one in self.documents if one[0].span.line <= line]
        return above[-1] if above else next(iter(self.documents), None)

    def view_at(self, line: int) -> PlaybookView | None:
        """The playbook that a line is in."""
        document = self.document_at(line)
        return document[1] if document is not None else None


def extents_in(name: str, catalogue: PlaybookCatalogue, text: str) -> tuple[Extent, ...]:
    """How often the steps of a file's playbooks run, and beside what; nothing of a file with errors."""
    plans = compile_source(name, bytes_of(text), catalogue).plans
    return tuple([extent for plan in plans for extent in extents_of(plan, Effort(STANDARD))])
