"""Formulas over the sizes of loops: sums of products with natural numbers in front, or "no bound" and why.

    3 + 2·|items| + |items|·|pages|

`largest` takes the larger number of each product: no less than either side, whatever the sizes are.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from noetl_ir.records import NamedTuple

Product: TypeAlias = tuple[str, ...]
"""Names of sizes, sorted; one for each factor, none for a plain number."""


class Formula(NamedTuple):
    """The sum of `number · size · …`, one term a product and no number zero. `why` is set where there is no bound."""

    terms: tuple[tuple[Product, int], ...]
    why: str = ""

    def __str__(self) -> str:
        if self.why:
            return f"unbounded: {self.why}"
        return " + ".join(_term(product, number) for product, number in self.terms) or "0"

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of the sizes that it depends on, sorted."""
        return tuple(sorted({name for product, _ in self.terms for name in product}))

    def value(self, sizes: Mapping[str, int]) -> int | None:
        """The number for these sizes; None where there is no bound, or a size is not given."""
        if self.why or not all(name in sizes for name in self.sizes):
            return None
        total = 0
        for product, number in self.terms:
            for name in product:
                number *= sizes[name]
            total += number
        return total


ZERO = Formula(())
ONE = Formula((((), 1),))


def number(count: int) -> Formula:
    """A plain number, zero or more."""
    return Formula((((), count),)) if count else ZERO


def size(name: str) -> Formula:
    """The size with a name."""
    return Formula((((name,), 1),))


def unbounded(why: str) -> Formula:
    """No bound."""
    return Formula((), why)


def plus(parts: Iterable[Formula]) -> Formula:
    """The sum."""
    found: dict[Product, int] = {}
    for part in parts:
        if part.why:
            return part
        for product, count in part.terms:
            found[product] = found.get(product, 0) + count
    return _formula(found)


def times(one: Formula, other: Formula) -> Formula:
    """The product; nothing times "no bound" is nothing."""
    if ZERO in (one, other):
        return ZERO
    if one.why or other.why:
        return one if one.why else other
    found: dict[Product, int] = {}
    for left, count in one.terms:
        for right, more in other.terms:
            product = tuple(sorted((*left, *right)))
            found[product] = found.get(product, 0) + count * more
    return _formula(found)


def largest(parts: Iterable[Formula]) -> Formula:
    """The bound that none of the parts is above."""
    found: dict[Product, int] = {}
    for part in parts:
        if part.why:
            return part
        for product, count in part.terms:
            found[product] = max(found.get(product, 0), count)
    return _formula(found)


def widest(parts: Iterable[Formula]) -> Formula:
    """The bound that none of the parts is above where every size is at least one: `|items|` for 1 and `|items|`."""
    rows = list(parts)
    most = largest(rows)
    if most.why:
        return most
    above = {product: count for product, count in most.terms if product}
    rest = 0
    for row in rows:
        own = dict(row.terms)
        # With every size at least one, each product that the maximum has more than this part is worth at least its
        # number. That much of the plain number is covered already.
        slack = sum(count - own.get(product, 0) for product, count in above.items())
        rest = max(rest, own.get((), 0) - slack)
    return _formula({**above, (): rest})


def smaller(one: Formula, other: Formula) -> Formula:
    """One of two bounds on the same thing: the one that grows less, or begins lower."""
    return min(one, other, key=_rank)


def _rank(formula: Formula) -> tuple[bool, int, int]:
    return bool(formula.why), max((len(each) for each, _ in formula.terms), default=0), sum(n for _, n in formula.terms)


def _formula(found: dict[Product, int]) -> Formula:
    rows = [(product, count) for product, count in found.items() if count]
    return Formula(tuple(sorted(rows, key=lambda row: (len(row[0]), row[0]))))


def _term(product: Product, count: int) -> str:
    factors = "·".join(f"|{name}|" for name in product)
    if not product:
        return f"{count:,}"
    return factors if count == 1 else f"{count:,}·{factors}"
