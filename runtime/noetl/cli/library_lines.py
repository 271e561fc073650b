"""Words of libraries by `logging`, as lines of the log of a command that stays."""

import logging
from collections.abc import Callable

from noetl.host.log_lines import log_line


class LibraryLines(logging.Handler):
    """Has each warning of a library said as a line, so that a log in JSON has nothing else in it."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        """Say one: what was raised is named in the same line, without its traceback."""
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text = f"{text.rstrip()}: {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        self._say(log_line("error" if record.levelno >= logging.ERROR else "warning", text))


def hear_libraries(say: Callable[[str], None]) -> None:
    """From now on, what libraries say goes there, and no longer to standard error as it is."""
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, LibraryLines)]:
        root.removeHandler(handler)
    root.addHandler(LibraryLines(say))
