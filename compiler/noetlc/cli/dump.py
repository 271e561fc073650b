"""dump: what a playbook is after a pass."""

import click

from noetl_cli import STANDARD_INPUT
from noetl_ir.plan import Plan
from noetl_ir.printing import printed_net, printed_plan
from noetlc.ast.playbook import Playbook
from noetlc.cli.catalogue import Folders
from noetlc.cli.files import put, read_playbook, shown_name
from noetlc.cli.findings import palette_of_stderr, text_of
from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import BUILD, STAGES, compile_source


class Keeper:
    """An observer that keeps what a stage gave."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self.kept: list[Playbook | Plan] = []

    def stage_begun(self, stage: str) -> None:
        """Nothing."""

    def stage_ended(self, stage: str, result: Playbook | Plan | None) -> None:
        """Keep the result of the one stage."""
        if stage == self._stage and result is not None:
            self.kept.append(result)


@click.command("dump", short_help="Show what a playbook is after a pass.")
@click.argument("file", metavar="FILE")
@click.option("--after", "stage", type=click.Choice(STAGES), default=BUILD, help="The pass.")
@click.option("--path", "folders", multiple=True, metavar="CATALOGUE", help="A folder with child playbooks.")
def dump_stage(file: str, stage: str, folders: tuple[str, ...]) -> int:
    """Show what a playbook is after a pass: canonical source until the net is built, then the plan and its
    net.
    """
    keeper = Keeper(stage)
    compiled = compile_source(shown_name(file), read_playbook(file), Folders(folders), keeper)
    if compiled.diagnostics:
        click.echo(text_of(compiled, palette_of_stderr()), err=True, nl=False)
    text = "\n".join(_text(each) for each in keeper.kept)
    put(STANDARD_INPUT, text.encode("utf-8", "backslashreplace"))
    return 1 if compiled.count_of(Severity.ERROR) else 0


COMMAND = dump_stage


def _text(result: Playbook | Plan) -> str:
    if isinstance(result, Plan):
        return f"{printed_plan(result)}\n{printed_net(result)}"
    from noetlc.ast.printing import printed

    return printed(result)
