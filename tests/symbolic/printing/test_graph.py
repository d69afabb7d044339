"""The drawn graph: every equation once, below its premises, without boxes or arrows that cross boxes."""

import itertools
import re
import xml.etree.ElementTree as ET

from symbolic.printing.graph import WIDTH, graph_dot, graph_svg, graph_tikz, layout

SVG = "{http://www.w3.org/2000/svg}"


def derivations(book):
    return [chapter.reduction.derivation for chapter in book]


def test_conclusions_stand_below_their_premises(book):
    for derivation in derivations(book):
        boxes = layout(derivation).boxes
        for source, target in derivation.graph.edges:
            assert boxes[source].y + boxes[source].height < boxes[target].y


def test_boxes_keep_apart_and_inside(book):
    for derivation in derivations(book):
        placed = layout(derivation)
        for box in placed.boxes.values():
            assert WIDTH / 2 <= box.x <= placed.width - WIDTH / 2
            assert 0 <= box.y <= placed.height - box.height
        for one, other in itertools.combinations(placed.boxes.values(), 2):
            apart_across = abs(one.x - other.x) > WIDTH
            assert apart_across or one.y + one.height < other.y or other.y + other.height < one.y


def test_arrows_cross_no_box(book):
    """Bends stay between layers, so it is enough that the straight pieces keep away from boxes."""
    for derivation in derivations(book):
        placed = layout(derivation)
        for points in placed.arrows:
            for (x, top), (_, bottom) in itertools.pairwise(points[1:-1]):
                for box in placed.boxes.values():
                    beside = bottom <= box.y or top >= box.y + box.height
                    assert beside or x == box.x or abs(x - box.x) > WIDTH / 2


def test_svg_is_well_formed_and_has_every_box_and_arrow(book):
    for derivation in derivations(book):
        root = ET.fromstring(graph_svg(derivation))
        written = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
        for number in derivation.numbers().values():
            assert written.count(f"({number})") == 1
        arrows = [path for path in root.iter(f"{SVG}path") if path.get("marker-end")]
        assert len(arrows) == derivation.graph.number_of_edges()
        joined = re.sub(r"\W", "", "".join(written))
        assert all(re.sub(r"\W", "", f"by {name}") in joined for name in derivation.steps)


def test_a_failed_step_is_marked(wrong):
    svg = graph_svg(wrong.reduction.derivation, failed=[failure.step.name for failure in wrong.failures])
    assert svg.count('class="failed"') == 1
    assert graph_svg(wrong.reduction.derivation).count('class="failed"') == 0


def test_tikz_has_a_node_for_every_equation_and_an_arrow_for_every_premise(book):
    for derivation in derivations(book):
        tikz = graph_tikz(derivation)
        assert all(ord(character) < 0x250 for character in tikz)
        assert tikz.count(r"\node[") == len(derivation.equations)
        assert tikz.count(r"\draw[") == derivation.graph.number_of_edges()


def test_dot_names_every_premise(book):
    for derivation in derivations(book):
        lines = graph_dot(derivation).splitlines()
        assert sum(" -> " in line for line in lines) == derivation.graph.number_of_edges()
        assert sum(line.endswith('"];') and " -> " not in line for line in lines) == len(derivation.equations)
