"""A line that a process says about itself, with its level and the execution that it is about.

Whoever hears a line gets a text, and need know no more. A text without a level is a warning: nothing is said of what
goes as it should.
"""

from typing import Literal

LogLevel = Literal["debug", "info", "warning", "error"]
LEVELS: tuple[LogLevel, ...] = ("debug", "info", "warning", "error")


class LogLine(str):
    """A text with its level, the id of the execution that it is about, empty for none, and the step and task whose line
    it is.
    """

    level: LogLevel = "warning"
    execution_id: str = ""
    step: str = ""
    task: str = ""


def log_line(level: LogLevel, text: str, execution_id: str = "", step: str = "", task: str = "") -> LogLine:
    """A line at a level."""
    line = LogLine(text)
    line.level, line.execution_id, line.step, line.task = level, execution_id, step, task
    return line
