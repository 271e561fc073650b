"""Layouts of random graphs: nothing lies on anything else, and large ones are no trouble."""

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from harness.samples import shares
from noetlc.emit.pictures.layering import RankedLink, ranks_of, turned
from noetlc.emit.pictures.layout import Layout, layout_of
from noetlc.emit.pictures.ordering import crossings_of
from noetlc.emit.pictures.shapes import NOTHING, Link, Point, Size

BOX = Size(90, 40)
LABEL = Size(60, 16)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Size], list[Link]]:
    count = draw(st.integers(1, 14))
    sizes = [Size(draw(st.sampled_from([60, 90, 200])), draw(st.sampled_from([30, 80]))) for _ in range(count)]
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    links = [
        Link(source, target, draw(st.sampled_from(["ok", "ko", "reset"])), draw(st.sampled_from([NOTHING, LABEL])))
        for source, target in draw(st.lists(ends, max_size=24))
    ]
    return sizes, links


def rectangle(middle: Point, size: Size) -> tuple[float, float, float, float]:
    x, y = middle
    return x - size.width / 2, y - size.height / 2, x + size.width / 2, y + size.height / 2


def overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    slack = 0.01
    return (
        one[0] < other[2] - slack
        and other[0] < one[2] - slack
        and one[1] < other[3] - slack
        and other[1] < one[3] - slack
    )


def drawn(sizes: list[Size], links: list[Link]) -> Layout:
    return layout_of(sizes, links, [size.width for size in sizes])


@shares(100)
@given(graphs())
def test_no_box_and_no_label_lies_on_another(share: int, graph: tuple[list[Size], list[Link]]) -> None:
    sizes, links = graph
    layout = drawn(sizes, links)
    found = [rectangle(middle, size) for middle, size in zip(layout.middles, sizes, strict=True)]
    found += [
        rectangle(route.label, link.label)
        for link, route in zip(links, layout.routes, strict=True)
        if route.label is not None
    ]
    for number, one in enumerate(found):
        assert one[0] >= -0.01 and one[1] >= -0.01
        assert one[2] <= layout.size.width + 0.01 and one[3] <= layout.size.height + 0.01
        for other in found[:number]:
            assert not overlap(one, other)


@given(graphs())
def test_every_link_leads_from_its_box_to_its_box_and_through_none(graph: tuple[list[Size], list[Link]]) -> None:
    sizes, links = graph
    layout = drawn(sizes, links)
    boxes = [rectangle(middle, size) for middle, size in zip(layout.middles, sizes, strict=True)]
    for number, link in enumerate(links):
        points = layout.whole(number)
        for point, box in ((points[0], boxes[link.source]), (points[-1], boxes[link.target])):
            assert box[0] - 0.01 <= point[0] <= box[2] + 0.01
            assert min(abs(point[1] - box[1]), abs(point[1] - box[3])) < 0.01 or link.source == link.target
        if layout.routes[number].form == "rows":
            assert len(points) % 2 == 0
            rows = [round(y, 3) for _, y in points]
            assert rows == sorted(rows) or rows == sorted(rows, reverse=True)
            for start, end in pairwise(points):
                line = (start[0], min(start[1], end[1]), end[0], max(start[1], end[1]))
                if start[0] == end[0]:
                    assert not any(overlap((line[0] - 0.1, line[1], line[2] + 0.1, line[3]), box) for box in boxes)


@given(graphs())
def test_the_same_graph_gives_the_same_layout(graph: tuple[list[Size], list[Link]]) -> None:
    assert drawn(*graph) == drawn(*graph)


def test_a_chain_is_straight() -> None:
    layout = drawn([BOX] * 5, [Link(number, number + 1, "ok") for number in range(4)])
    assert len({x for x, _ in layout.middles}) == 1
    assert [y for _, y in layout.middles] == sorted(y for _, y in layout.middles)


def test_a_fork_is_even_and_its_join_stands_below_its_middle() -> None:
    links = [Link(0, 1, "ok"), Link(0, 2, "ok"), Link(1, 3, "ok"), Link(2, 3, "ok")]
    (top, left, right, bottom) = drawn([BOX] * 4, links).middles
    assert abs(top[0] - bottom[0]) < 1 and abs(left[0] + right[0] - 2 * top[0]) < 2 and left[1] == right[1]


def test_failures_of_many_boxes_share_one_stem() -> None:
    chain = [Link(number, number + 1, "ok") for number in range(9)]
    layout = drawn([BOX] * 11, [*chain, *(Link(number, 10, "ko") for number in range(8))])
    assert len(layout.stems) == 1
    assert sum(route.stem == 0 for route in layout.routes) >= 7


def test_links_that_close_a_cycle_are_turned_and_ranks_go_down() -> None:
    ends = [(0, 1), (1, 2), (2, 0), (2, 3)]
    assert turned(4, ends) == [False, False, True, False]
    assert ranks_of(4, [RankedLink(0, 1, 1), RankedLink(1, 2, 2), RankedLink(0, 2, 1), RankedLink(2, 3, 1)]) == [
        0,
        1,
        3,
        4,
    ]


def test_crossings_are_counted() -> None:
    down = [[(2, 1.0), (3, 1.0)], [(2, 1.0), (3, 1.0)], [], []]
    assert crossings_of([[0, 1], [2, 3]], down) == 1
    assert crossings_of([[0, 1], [3, 2]], down) == 1
    assert crossings_of([[0, 1], [2, 3]], [[(3, 1.0)], [(2, 1.0)], [], []]) == 1
    assert crossings_of([[1, 0], [2, 3]], [[(3, 1.0)], [(2, 1.0)], [], []]) == 0


def test_what_would_need_endless_bends_goes_straight() -> None:
    count = 1_200
    chain = [Link(number, number + 1, "ok") for number in range(count - 1)]
    far = [Link(number, (number * 7 + 600) % count, "ok") for number in range(count)]
    layout = drawn([BOX] * count, [*chain, *far])
    assert any(route.form == "straight" for route in layout.routes)
    assert sum(len(route.points) for route in layout.routes) < 60 * count


@given(graphs())
def test_links_that_no_token_takes_move_no_box_below_another(graph: tuple[list[Size], list[Link]]) -> None:
    sizes, links = graph
    ends = [(link.source, link.target) for link in links if link.source != link.target]
    turns = zip(ends, turned(len(sizes), ends), strict=True)
    spans = [RankedLink(target, source, 1) if up else RankedLink(source, target, 1) for (source, target), up in turns]
    loose = [RankedLink(a, b, 2) for a, b in combinations(range(len(sizes)), 2)][:20]
    ranks = ranks_of(len(sizes), spans, loose)
    assert all(ranks[span.upper] < ranks[span.lower] for span in spans)
    assert all(abs(ranks[span.upper] - ranks[span.lower]) >= 2 for span in loose)
