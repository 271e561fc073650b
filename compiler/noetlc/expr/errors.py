"""The fault of a template, and where in its text."""


class TemplateError(Exception):
    """A finding about a template's text. `start` and `end` are offsets in code points, the end exclusive.

    Raised by `parse_expression`, and returned as a value beside the result by `parse_template`.
    """

    def __init__(self, message: str, start: int, end: int, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end
        self.help = help

    def moved(self, by: int) -> "TemplateError":
        """The error in a text that has `by` more code points in front."""
        return type(self)(self.message, self.start + by, self.end + by, self.help)

    def _key(self) -> tuple[str, int, int, str]:
        return (self.message, self.start, self.end, self.help)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TemplateError) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"TemplateError({self.message!r}, {self.start}, {self.end}, {self.help!r})"


class UnknownWord(TemplateError):
    """A well-formed expression calls something that nobody offers, or calls it wrongly."""
