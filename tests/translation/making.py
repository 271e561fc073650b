"""A step that is being made at random: what it can ask and give, by the kind of its tool."""

from random import Random
from typing import Any

TARGETS = ("a", "b", "c", "d")


class Making:
    """The step that is being made; `kind` is that of its tool, and `tool` has keys of it besides."""

    def __init__(self, random: Random, kind: str, looped: bool) -> None:
        self.random = random
        self.kind = kind
        self.step: dict[str, Any] = {"step": "s"}
        self.args: dict[str, Any] = {"tag": "tool", **({"i": "{{ loop_index }}"} if looped else {})}
        self.tool: dict[str, Any] = {}
        self.workbook: dict[str, Any] | None = None
        self.looped = looped
        self.sends = False
        self.named: str | None = None
        self.returns = False
        self.is_paged = False

    def one(self, *choices: Any) -> Any:
        """One of these."""
        return self.random.choice(choices)

    @property
    def body(self) -> str:
        """Where the result's own keys stand."""
        return "response.data" if self.kind == "http" else "result"

    def own(self, key: str) -> list[str]:
        """A key of the result by the names that it has in its step: the step's, and the task's where it has one."""
        names = ["s"] if self.named is None else ["s", self.named, self.named]
        return [] if self.is_paged else [f"{name}.{'data.' if self.kind == 'http' else ''}{key}" for name in names]

    def guard(self) -> str:
        """A condition on a success, or on what is outside."""
        body = self.body
        inside = [f"{body}.k == 1", f"{body}.k > 0", f"{body}.f", f"not {body}.f", f"{body}.k < 2"]
        inside += ["response.status_code == 200", "response.status_code == 201"] if self.kind == "http" else []
        inside += [f"{self.one('result', 'response')} is defined"] * 2
        inside += [f"{own} {asked}" for own in self.own("k") for asked in ("== 1", "> 0")] if self.named else []
        outside = ["workload.w == 1", "vars.c == 1", "workload.w > 0", "vars.v == 1", "vars.v is defined"]
        text = str(self.one(*inside, *inside, *outside))
        return f"{text} and {self.one(*inside, *outside)}" if self.one(0, 0, 1) else text

    def of_failure(self) -> str:
        """A condition on a failure."""
        texts = ["error.code == 'timeout'", "error is defined", "error.code is defined", "error != None"]
        return str(
            self.one(*texts, *(["error.status == 503", "status_code in [404, 503]"] if self.kind == "http" else []))
        )

    def value(self, *, failing: bool = False, behind: bool = False) -> str:
        """Something to store; `behind` all that repeats the tool."""
        outside = ["workload.w", "vars.c + 1", "7"]
        if self.is_paged and (behind or self.kind == "http"):
            return "{{ " + str(self.one(*outside)) + " }}"  # what is gathered is no answer any more
        if failing:
            return "{{ " + str(self.one(*outside, "error.code")) + " }}"
        inside = (f"{self.body}.k", f"{self.body}.k", *self.own("k"))
        return "{{ " + str(self.one(*outside, *inside)) + " }}"

    def of_list(self) -> str:
        """Something of the list that a loop gives."""
        return "{{ " + str(self.one("result | length", "s | length", "workload.w", "vars.c + 1")) + " }}"

    def braced(self, text: str) -> str:
        return "{{ " + text + " }}"
