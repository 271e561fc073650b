"""graph: the steps of a playbook as a picture."""

import click

from noetlc.cli.files import STANDARD_INPUT, put, read_playbook, shown
from noetlc.cli.findings import palette_of_stderr, text_of
from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import check_source


@click.command("graph", short_help="Draw the steps of a playbook.")
@click.argument("file", metavar="FILE")
@click.option("--format", "form", type=click.Choice(["mermaid", "dot"]), default="mermaid", help="The language.")
@click.option("-o", "--output", metavar="OUT", default=STANDARD_INPUT, help="The file to write.")
def graph_steps(file: str, form: str, output: str) -> int:
    """Draw the steps of a playbook as a Mermaid flowchart or in Graphviz's language.

    Failure arcs are dashed. Several documents give several pictures.
    """
    compiled = check_source(shown(file), read_playbook(file))
    if compiled.count_of(Severity.ERROR):
        click.echo(text_of(compiled, palette_of_stderr()), err=True, nl=False)
        return 1
    if form == "mermaid":
        from noetlc.emit.mermaid import emitted
    else:
        from noetlc.emit.dot import emitted
    pictures = [emitted(one.playbook) for one in compiled.documents if one.playbook is not None]
    put(output, "\n".join(pictures).encode("utf-8"))
    return 0


COMMAND = graph_steps
