"""click, imported when it is needed: for help, for errors and for what is rare, and not for a line that is plain.

    from noetl_cli import lazy_click as click

Importing click takes twice as long as Python's own start. A command and its options are written as always; here they
are kept as written. `DeclaredCommand.plain` reads a command line that nothing is to be said about; for any other, and
for help, `DeclaredCommand.real` is the same command of click, which is the oracle for what `plain` reads. All other
names are those of click itself.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from click import (
        Choice,
        ClickException,
        Command,
        Context,
        Group,
        IntRange,
        Parameter,
        UsageError,
        argument,
        command,
        core,
        echo,
        group,
        option,
        prompt,
    )

__all__ = [
    "Choice", "ClickException", "Command", "Context", "DeclaredCommand", "Group", "IntRange", "Misuse", "Parameter",
    "UsageError", "argument", "command", "core", "echo", "group", "is_abort", "lazy_group", "option", "prompt",
    "real_command", "refusal", "status_of",
]  # fmt: skip

_UNDERSTOOD = frozenset({
    "callback", "default", "envvar", "expose_value", "help", "is_eager", "is_flag", "metavar", "multiple", "nargs",
    "required", "show_default", "type",
})  # fmt: skip
"""Settings of parameters that `plain` reads as click does, or that change nothing for it."""

Made: TypeAlias = "Callable[[], Group]"

_F = TypeVar("_F", bound=Callable[..., object])


_FILES = ("FILE", "PLAN", "PLAYBOOK", "CATALOGUE", "FOLDER", "LOG", "OUT", "PATH")
"""Words in metavars that stand for files: a shell completes them."""


class Misuse(Exception):
    """Wrong usage, as `UsageError`, of which a class can be made without click."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class _NotPlain(Exception):
    """Something is to be said about the command line, or it is read in a way that only click knows."""


class _Type:
    """A type of click as it was written."""

    def __init__(self, name: str, *args: object, **settings: object) -> None:
        self._written = name, args, settings

    def real(self) -> object:
        """The type itself."""
        name, args, settings = self._written
        import click

        return getattr(click, name)(*args, **settings)

    def read(self, text: str) -> object:
        """The value of a text. Raises _NotPlain."""
        name, args, settings = self._written
        if name == "Choice" and not settings and text in args[0]:  # type: ignore[operator]
            return text
        # Plain digits alone: signs, blanks and digits of other scripts are for click, whose reading counts.
        if name == "IntRange" and not settings and text.isascii() and text.isdigit() and len(text) < 19:
            least, most = (*args, None, None)[:2]
            if (least is None or int(text) >= least) and (most is None or int(text) <= most):  # type: ignore[operator]
                return int(text)
        raise _NotPlain


class _Parameter:
    """An argument or option as it was written; applied to a function it is kept with it."""

    def __init__(self, kind: str, words: tuple[str, ...], settings: dict[str, object]) -> None:
        self.kind = kind
        self.settings = settings
        self._words = words
        self.flags: dict[str, bool | None] = {}
        names = [word for word in words if not word.startswith("-")]
        for word in words:
            yes, _, no = word.partition("/")
            if word.startswith("-"):
                self.flags[yes] = True
                if no:
                    self.flags[no] = False
        longest = max((word.partition("/")[0] for word in words), key=lambda word: word.startswith("--"), default="")
        self.name = names[0] if names else longest.lstrip("-").replace("-", "_").lower()
        self.is_flag = bool(settings.get("is_flag")) or len(set(self.flags.values())) == 2
        self.multiple = bool(settings.get("multiple"))
        self.many = settings.get("nargs") == -1

    def __call__(self, function: _F) -> _F:
        function.__dict__.setdefault("_declared", []).append(self)
        if "click" in sys.modules:  # where click is used itself, as in a group
            self.applied(function)
        return function

    def applied(self, function: Callable[..., object]) -> Callable[..., object]:
        """The function with click's own parameter."""
        import click

        # A copy, since the parameter may be made for click several times.
        settings = dict(self.settings)
        if isinstance(kind := settings.get("type"), _Type):
            settings["type"] = kind.real()
        # click knows files by types that open or check them, which commands do for themselves.
        elif any(word in str(settings.get("metavar")) for word in _FILES):
            settings["shell_complete"] = _files
        decorate: Callable[..., Callable[[Callable[..., object]], Callable[..., object]]] = getattr(click, self.kind)
        return decorate(*self._words, **settings)(function)

    def read(self, text: str) -> object:
        """The value of a text. Raises _NotPlain."""
        kind = self.settings.get("type")
        if kind is None or kind is str:
            return text
        if isinstance(kind, _Type):
            return kind.read(text)
        raise _NotPlain

    def absent(self, environ: Mapping[str, str]) -> object:
        """The value where the command line does not say any. Raises _NotPlain."""
        variable = self.settings.get("envvar")
        # A value from the environment is read by click, which splits and checks it in ways of its own.
        if self.settings.get("required") or (variable is not None and environ.get(str(variable))):
            raise _NotPlain
        if self.multiple or self.many:
            if "default" in self.settings:
                raise _NotPlain
            return ()
        return self.settings.get("default", False if self.is_flag else None)


class _PlainContext:
    """The context that callbacks of options see: it has what other callbacks left there."""

    def __init__(self) -> None:
        self.meta: dict[str, object] = {}

    def __getattr__(self, name: str) -> object:
        raise _NotPlain


def _called(callback: object, context: _PlainContext, parameter: _Parameter, value: object) -> object:
    """The value that a callback gives. Raises _NotPlain where it refuses: click asks it again, and tells."""
    assert callable(callback)
    try:
        return callback(context, parameter, value)
    # Any refusal of a callback, since click repeats the call and tells of it with the usage line.
    except Exception as problem:
        raise _NotPlain from problem


def _files(context: object, parameter: object, incomplete: str) -> object:
    """Shells complete names of files themselves."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


class DeclaredCommand:
    """A command as it was written."""

    def __init__(self, function: Callable[..., object], name: str, short_help: str) -> None:
        self._function = function
        self._name = name
        self._short_help = short_help
        self._parameters: list[_Parameter] = function.__dict__.get("_declared", [])
        # An option made with click itself would work in help and be passed by in plain lines; so it is an error of
        # the command.
        own = [parameter.name for parameter in self._parameters]
        if strange := [each.name for each in function.__dict__.get("__click_params__", ()) if each.name not in own]:
            raise TypeError(f"{name}: {strange[0]} is an option of click itself: import lazy_click where it is made")

    def real(self) -> "Command":
        """This command as click has it."""
        import click

        function = self._function
        # click gathers parameters at the function: made a second time they would be there twice.
        function.__dict__["__click_params__"] = []
        for parameter in self._parameters:
            parameter.applied(function)
        return click.command(self._name, short_help=self._short_help)(function)

    def plain(self, words: Sequence[str], environ: Mapping[str, str]) -> Callable[[], object] | None:
        """The work that a plain command line asks for; None where click is to read it."""
        try:
            values = self._values(words, environ)
        except _NotPlain:
            return None
        return lambda: self._function(**values)

    def _values(self, words: Sequence[str], environ: Mapping[str, str]) -> dict[str, object]:
        # A setting that is new here is click's to understand, until somebody has read what it does.
        if any(set(parameter.settings) - _UNDERSTOOD for parameter in self._parameters):
            raise _NotPlain
        options, rest = self._sorted(words)
        # Decorators are applied from the last to the first.
        arguments = [parameter for parameter in reversed(self._parameters) if parameter.kind == "argument"]
        args: dict[_Parameter, object] = dict(options)
        for parameter in arguments:
            if parameter.many:
                # An argument of many words takes the rest; one in the middle is for click to divide.
                if parameter is not arguments[-1]:
                    raise _NotPlain
                if rest:
                    args[parameter] = tuple(parameter.read(word) for word in rest)
                rest = []
            # An empty word counts as none to click, which then asks for the argument.
            elif rest and rest[0]:
                args[parameter] = parameter.read(rest.pop(0))
            else:
                raise _NotPlain
        if rest:
            raise _NotPlain
        return self._called_back(args, environ)

    def _sorted(self, words: Sequence[str]) -> tuple[dict["_Parameter", object], list[str]]:
        """The values of options, and the words that are none. Raises _NotPlain."""
        known = {word: parameter for parameter in self._parameters for word in parameter.flags}
        found: dict[_Parameter, object] = {}
        rest: list[str] = []
        left = [*words]
        while left:
            word = left.pop(0)
            if word == "--":
                rest += left
                break
            if not word.startswith("-") or word == "-":
                rest.append(word)
                continue
            # Short options may be written together (`-xvf`), which is not a known flag here and so goes to click.
            name, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
            parameter = known.get(name)
            # An abbreviated option, or one that is given twice, is legal to click.
            if parameter is None or (parameter in found and not parameter.multiple):
                raise _NotPlain
            if parameter.is_flag:
                if equals:
                    raise _NotPlain
                found[parameter] = parameter.flags[name]
                continue
            if not equals:
                # A value that looks like an option is read in ways that only click knows.
                if not left or (left[0].startswith("-") and left[0] != "-"):
                    raise _NotPlain
                text = left.pop(0)
            value = parameter.read(text)
            found[parameter] = (*found.get(parameter, ()), value) if parameter.multiple else value  # type: ignore[misc]
        return found, rest

    def _called_back(self, args: Mapping["_Parameter", object], environ: Mapping[str, str]) -> dict[str, object]:
        """The arguments of the function: eager parameters first, then as they were written."""
        context = _PlainContext()
        written = [*reversed(self._parameters)]
        order = sorted(written, key=lambda parameter: not parameter.settings.get("is_eager"))
        values: dict[str, object] = {}
        for parameter in order:
            value = args[parameter] if parameter in args else parameter.absent(environ)
            callback = parameter.settings.get("callback")
            if callback is not None:
                value = _called(callback, context, parameter, value)
            if parameter.settings.get("expose_value", True):
                values[parameter.name] = value
        return values


def status_of(
    words: Sequence[str],
    environ: Mapping[str, str],
    commands: Mapping[str, str],
    load: Callable[[str], object],
    group: "Made",
) -> int:
    """The exit code of a command line, run by itself where it is plain and by the `group` of click where not.

    `load` gives the command of a name that `commands` has.
    """
    if words and words[0] in commands:
        found = load(words[0])
        if isinstance(found, DeclaredCommand) and (work := found.plain(words[1:], environ)) is not None:
            return _code(work())
    import click

    made = group()
    try:
        with made.make_context(made.name, [*words]) as context:
            return _code(made.invoke(context))
    except click.exceptions.Exit as end:
        return end.exit_code


def refusal(error: Exception, words: Sequence[str], group: "Made") -> "ClickException | None":
    """The error of click that an exception is, knowing the command that it is about; None where it is none."""
    if not isinstance(error, Misuse) and "click" not in sys.modules:
        return None
    import click

    if isinstance(error, Misuse):
        error = click.UsageError(error.message)
    # Raised by a command that click did not call: the context is made anew, so that the usage line names the command.
    if isinstance(error, click.UsageError) and error.ctx is None:
        made = group()
        context = made.make_context(made.name, [*words])
        if (command := made.get_command(context, words[0])) is not None:
            error.ctx = command.make_context(words[0], [*words[1:]], parent=context)
    return error if isinstance(error, click.ClickException) else None


def is_abort(error: Exception) -> bool:
    """Whether an exception is that of a question that was not answered."""
    if "click" not in sys.modules:
        return False
    import click

    return isinstance(error, click.Abort)


def _code(returned: object) -> int:
    return returned if isinstance(returned, int) else 0


def real_command(found: object) -> "Command":
    """A command as click's, however it was written."""
    import click

    made = found.real() if isinstance(found, DeclaredCommand) else found
    assert isinstance(made, click.Command)
    return made


def lazy_group(
    program: str, text: str, commands: Mapping[str, str], load: Callable[[str], object], beside: Mapping[str, str]
) -> "Group":
    """The group of all commands of a program. It imports a command only when it is run or asked for its own help.

    `commands` are their lines in the help, `text` is the line above them. `beside` has commands that another program
    has, and its name.
    """
    import click

    class Lazy(click.Group):
        def list_commands(self, ctx: click.Context) -> list[str]:
            return [*commands]

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            return real_command(load(cmd_name)) if cmd_name in commands else None

        def resolve_command(
            self, ctx: click.Context, args: list[str]
        ) -> tuple[str | None, click.Command | None, list[str]]:
            from noetl_ir.nearest import nearest

            word = args[0]
            # Before what looks like it: `noetl lint` is not a slip of `noetl list`.
            if word in beside and word not in commands and not ctx.resilient_parsing:
                ctx.fail(f"There is no command '{word}' here. Did you mean '{beside[word]} {word}'?")
            near = "" if word in commands or ctx.resilient_parsing else nearest(word, commands)
            if near:
                ctx.fail(f"There is no command '{word}'. Did you mean '{near}'?")
            return super().resolve_command(ctx, args)

        def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            if commands:
                with formatter.section("Commands"):
                    formatter.write_dl([*commands.items()])

    made = Lazy(program, help=text, context_settings={"help_option_names": ["-h", "--help"]})
    return click.version_option(package_name="noetlc", prog_name=program)(made)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """All other names are those of click."""
        # Python asks modules for such names by itself, and must not import click by that.
        if name.startswith("__"):
            raise AttributeError(name)
        import click

        return getattr(click, name)

    def argument(*words: str, **settings: object) -> _Parameter:
        """An argument of a command."""
        return _Parameter("argument", words, settings)

    def option(*words: str, **settings: object) -> _Parameter:
        """An option of a command."""
        return _Parameter("option", words, settings)

    def command(name: str, *, short_help: str) -> Callable[[Callable[..., object]], DeclaredCommand]:
        """A command; what it decorates has its parameters already."""
        return lambda function: DeclaredCommand(function, name, short_help)

    def Choice(choices: Sequence[str], **settings: object) -> _Type:
        """One of some texts."""
        return _Type("Choice", choices, **settings)

    def IntRange(*bounds: int | None, **settings: object) -> _Type:
        """An integer from one bound to the other, both included."""
        return _Type("IntRange", *bounds, **settings)

    def echo(
        message: object = None, file: object = None, nl: bool = True, err: bool = False, color: object = None
    ) -> None:
        """Print a text. Bytes, other files, colours, and streams that cannot hold the text are left to click."""
        stream = sys.stderr if err else sys.stdout
        text = "" if message is None else message
        # Escapes of colours are click's to strip, where the stream is no terminal.
        easy = file is None and color is None and isinstance(text, str) and "\x1b" not in text and stream is not None
        if not easy or "ascii" in (getattr(stream, "encoding", None) or "ascii").lower():
            import click

            click.echo(message, file, nl, err, color)
            return
        stream.write(f"{text}\n" if nl else text)
        stream.flush()
