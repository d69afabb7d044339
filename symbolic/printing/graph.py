"""A derivation drawn as a graph, in layers from the definitions down to the result: SVG, TikZ and DOT.

A box is an equation: its number, its title, and the step that it follows by. Arrows lead from premises to conclusions.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from symbolic.derivation import Derivation
from symbolic.printing.prose import prose_html, prose_latex

#: Lengths in pixels: boxes, lines of text, and the space between boxes and between layers.
WIDTH, LINE, PADDING, SPACE, LAYER_SPACE, MARGIN = 200, 17, 8, 18, 42, 6
#: Characters that fit on a line of a box.
COLUMNS = 27
#: The room that an arrow takes where it passes a layer.
PASSAGE = 6
#: Pixels in a centimetre of TikZ, so that its footnote size fits the boxes.
SCALE = 45
SWEEPS = 8

STYLE = """
.graph { font: 13px system-ui, sans-serif; }
.graph rect { fill: #fff; stroke: #5b6b7f; }
.graph .definition rect { fill: #eef3f9; stroke-dasharray: 4 3; }
.graph .failed rect { stroke: #b3261e; stroke-width: 2.5; }
.graph text { fill: #1b1f24; text-anchor: middle; }
.graph .number { font-weight: 600; }
.graph .step { font-style: italic; fill: #52606d; }
.graph path { fill: none; stroke: #8593a3; stroke-width: 1.3; }
.graph marker path { fill: #8593a3; stroke: none; }
@media (prefers-color-scheme: dark) {
  .graph rect { fill: #1c2128; stroke: #8593a3; }
  .graph .definition rect { fill: #222c38; }
  .graph .failed rect { stroke: #ff8a80; }
  .graph text { fill: #e6e8ea; }
  .graph .step { fill: #aab4c0; }
}
"""

#: An equation by its key; or an arrow from one to another where it passes a layer.
Node = str | tuple[str, str, int]


@dataclass(frozen=True)
class Box:
    """Where an equation is drawn, by the middle of its upper edge, and what is written in it."""

    x: float
    y: float
    height: float
    lines: tuple[str, ...]
    step: tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """Boxes by the keys of equations, and the points that each arrow goes through, in pixels."""

    width: float
    height: float
    boxes: Mapping[str, Box]
    arrows: tuple[tuple[tuple[float, float], ...], ...]


def layout(derivation: Derivation) -> Layout:
    """Place every equation below its premises, definitions just above their first use, arrows around boxes.

    >>> from symbolic import canonical_reductions
    >>> placed = layout(canonical_reductions()["ott_antonsen"]().derivation)
    >>> placed.boxes["field"].y < placed.boxes["angle"].y
    True
    """
    depth = _depths(derivation.graph)
    layers, chains = _layers(derivation.graph, depth)
    across = _across(layers, chains)
    left = min(x - _half_width(node) for node, x in across.items()) - MARGIN
    texts = {key: _text(derivation, key) for key in derivation.equations}
    heights = {key: LINE * (1 + len(lines) + len(step)) + 2 * PADDING for key, (lines, step) in texts.items()}
    tops: list[float] = []
    bottoms: list[float] = []
    for layer in layers:
        tops.append(bottoms[-1] + LAYER_SPACE if bottoms else MARGIN)
        bottoms.append(tops[-1] + max(heights[node] for node in layer if isinstance(node, str)))
    boxes = {key: Box(across[key] - left, tops[depth[key]], heights[key], *texts[key]) for key in texts}
    arrows = []
    for (source, _), chain in chains.items():
        points = [(boxes[source].x, boxes[source].y + boxes[source].height)]
        for level, (node, following) in enumerate(zip(chain, chain[1:], strict=False), depth[source]):
            points += [(across[node] - left, bottoms[level]), (across[following] - left, tops[level + 1])]
        arrows.append(tuple(points))
    width = max(x + _half_width(node) for node, x in across.items()) - left + MARGIN
    return Layout(width, bottoms[-1] + MARGIN, boxes, tuple(arrows))


def graph_svg(derivation: Derivation, failed: Collection[str] = (), link: str | None = None) -> str:
    """The graph as SVG.

    Parameters
    ----------
    derivation : what to draw.
    failed : names of steps that were found not to hold.
    link : within a page, where a box leads: an address to which the number of the equation is appended. Without it
        the picture stands alone and brings its own style.

    >>> from symbolic import canonical_reductions
    >>> graph_svg(canonical_reductions()["linear_tokens"]().derivation)[:4]
    '<svg'
    """
    placed = layout(derivation)
    size = f'viewBox="0 0 {placed.width:.0f} {placed.height:.0f}" width="{placed.width:.0f}"'
    title = f"Graph of the derivation {derivation.name}"
    namespace = f' xmlns="{SVG_NAMESPACE}"' if link is None else ""
    marker = f"arrow-{derivation.name if link is None else link.strip('#-')}"
    pieces = [
        f'<svg class="graph" role="img" aria-label="{html.escape(title)}" {size}{namespace}>',
        f"<style>{STYLE}</style>" if link is None else "",
        f'<defs><marker id="{marker}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>',
    ]
    pieces += [f'<path d="{_curve(points)}" marker-end="url(#{marker})"/>' for points in placed.arrows]
    pieces += [_box_svg(derivation, key, box, failed, link) for key, box in placed.boxes.items()]
    return "\n".join([*filter(None, pieces), "</svg>"])


def graph_tikz(derivation: Derivation) -> str:
    """The graph as a tikzpicture, no wider and no higher than a page of A4 or letter paper with usual margins."""
    placed = layout(derivation)
    scale = min(1.0, 15 * SCALE / placed.width, 21 * SCALE / placed.height)
    numbers = derivation.numbers()
    nodes = r"transform shape,fill=white,rounded corners=2pt,align=flush center,font=\footnotesize,inner sep=2pt"
    lines = [rf"\begin{{tikzpicture}}[x=1cm,y=-1cm,>=stealth,scale={scale:.3f},every node/.style={{{nodes}}}]"]
    for points in placed.arrows:
        lines.append(rf"\draw[->,gray] {_curve_tikz(points)};")
    for key, box in placed.boxes.items():
        style = "draw" if derivation.step_to(key) else "draw,dashed"
        title, step = prose_latex(derivation.equations[key].title), prose_latex(_step_text(derivation, key))
        text = rf"({numbers[key]})\\ {title}" + (rf"\\ \textit{{{step}}}" if step else "")
        size = f"text width={_cm(WIDTH - 2 * PADDING)}cm,minimum height={_cm(box.height)}cm"
        at = f"({_cm(box.x)},{_cm(box.y + box.height / 2)})"
        lines.append(rf"\node[{style},{size}] at {at} {{{text}}};")
    return "\n".join([*lines, r"\end{tikzpicture}"])


def graph_dot(derivation: Derivation) -> str:
    """The graph in the DOT language.

    >>> from symbolic import canonical_reductions
    >>> print(graph_dot(canonical_reductions()["linear_tokens"]().derivation))
    digraph "linear_tokens" {
      node [shape=box];
      "field" [label="(1) Attention field"];
      "tokens" [label="(2) The tokens as rows of a matrix"];
      "field" -> "tokens" [label="empirical law"];
    }
    """
    numbers = derivation.numbers()
    lines = [f"digraph {_quoted(derivation.name)} {{", "  node [shape=box];"]
    for key, equation in derivation.equations.items():
        lines.append(f"  {_quoted(key)} [label={_quoted(f'({numbers[key]}) {equation.title}')}];")
    for source, target, data in derivation.graph.edges(data=True):
        lines.append(f"  {_quoted(source)} -> {_quoted(target)} [label={_quoted(data['step'].name)}];")
    return "\n".join([*lines, "}"])


#: The name of the language, which looks like an address; nothing is fetched from there.
SVG_NAMESPACE = "http://www.w3.org/2000/svg"


def _depths(graph: nx.DiGraph) -> dict[str, int]:
    """The layer of each equation: below its premises, and definitions just above their first use."""
    depth = {key: i for i, layer in enumerate(nx.topological_generations(graph)) for key in layer}
    for key in graph:
        if graph.in_degree(key) == 0 and graph.out_degree(key) > 0:
            depth[key] = min(depth[conclusion] for conclusion in graph.successors(key)) - 1
    return depth


def _layers(graph: nx.DiGraph, depth: Mapping[str, int]) -> tuple[list[list[Node]], dict[tuple[str, str], list[Node]]]:
    """The nodes of each layer, in an order with few crossings, and the way of each arrow through the layers.

    Where an arrow passes a layer it has a node of its own there, the tuple (source, target, layer).
    """
    layers: list[list[Node]] = [[] for _ in range(max(depth.values()) + 1)]
    for key in graph:
        layers[depth[key]].append(key)
    chains: dict[tuple[str, str], list[Node]] = {}
    neighbours = nx.Graph()
    neighbours.add_nodes_from(graph)
    for source, target in graph.edges:
        passed = [(source, target, layer) for layer in range(depth[source] + 1, depth[target])]
        for node in passed:
            layers[node[2]].append(node)
        chains[source, target] = [source, *passed, target]
        nx.add_path(neighbours, chains[source, target])
    level = {node: i for i, layer in enumerate(layers) for node in layer}
    for sweep in range(SWEEPS):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            place = {node: i / len(nodes) for nodes in layers for i, node in enumerate(nodes)}

            def barycentre(node: Node, place: Mapping[Node, float] = place, down: bool = downwards) -> float:
                beyond = [place[n] for n in neighbours[node] if (level[n] < level[node]) == down]
                return sum(beyond) / len(beyond) if beyond else place[node]

            layer.sort(key=barycentre)
    return layers, chains


def _across(layers: list[list[Node]], chains: Mapping[tuple[str, str], list[Node]]) -> dict[Node, float]:
    """The middle of each node, as near to those that it is joined to as the nodes beside it allow."""
    neighbours = nx.Graph()
    neighbours.add_nodes_from(node for layer in layers for node in layer)
    for chain in chains.values():
        nx.add_path(neighbours, chain)
    place: dict[Node, float] = {}
    for layer in layers:
        offsets = _offsets(layer)
        place.update({node: offset - offsets[-1] / 2 for node, offset in zip(layer, offsets, strict=True)})
    # Definitions count little, so that the steps of an argument stand below one another.
    conclusions = {conclusion for _, conclusion in chains}
    weight = {node: 1.0 if node in conclusions or isinstance(node, tuple) else 0.1 for node in place}
    for sweep in range(2 * SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            offsets = _offsets(layer)
            wanted = [
                (
                    _mean([(place[n], weight[n]) for n in neighbours[node]] or [(place[node], 1.0)]) - offset,
                    weight[node],
                )
                for node, offset in zip(layer, offsets, strict=True)
            ]
            for node, offset, value in zip(layer, offsets, _increasing(wanted), strict=True):
                place[node] = offset + value
    return place


def _increasing(values: list[tuple[float, float]]) -> list[float]:
    """The increasing sequence that is nearest to values with weights: neighbours out of order are averaged."""
    blocks: list[list[tuple[float, float]]] = []
    for value in values:
        blocks.append([value])
        while len(blocks) > 1 and _mean(blocks[-2]) > _mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [_mean(block) for block in blocks for _ in block]


def _mean(values: list[tuple[float, float]]) -> float:
    """The mean of values with weights."""
    return sum(value * weight for value, weight in values) / sum(weight for _, weight in values)


def _offsets(layer: list[Node]) -> list[float]:
    """Positions from left to right when nodes stand side by side."""
    offsets = [0.0]
    for left, right in zip(layer, layer[1:], strict=False):
        offsets.append(offsets[-1] + _half_width(left) + SPACE + _half_width(right))
    return offsets


def _half_width(node: Node) -> float:
    return (WIDTH if isinstance(node, str) else PASSAGE) / 2


def _text(derivation: Derivation, key: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    title = textwrap.wrap(derivation.equations[key].title, COLUMNS)
    return tuple(title), tuple(textwrap.wrap(_step_text(derivation, key), COLUMNS))


def _step_text(derivation: Derivation, key: str) -> str:
    step = derivation.step_to(key)
    return f"by {step.name}" if step else ""


def _box_svg(derivation: Derivation, key: str, box: Box, failed: Collection[str], link: str | None) -> str:
    step, number = derivation.step_to(key), derivation.numbers()[key]
    kind = "definition" if step is None else "failed" if step.name in failed else "conclusion"
    lines = [("number", f"({number})"), *(("", line) for line in box.lines), *(("step", line) for line in box.step)]
    texts = "".join(
        f'<text class="{style}" x="{box.x:.1f}" y="{box.y + PADDING + LINE * (i + 0.75):.1f}">{_line_svg(line)}</text>'
        for i, (style, line) in enumerate(lines)
    )
    corner = f'x="{box.x - WIDTH / 2:.1f}" y="{box.y:.1f}" rx="6"'
    drawn = f'<g class="{kind}"><rect {corner} width="{WIDTH}" height="{box.height:.1f}"/>{texts}</g>'
    return drawn if link is None else f'<a href="{link}{number}">{drawn}</a>'


def _line_svg(line: str) -> str:
    """A line of text with its formulas; what is raised or lowered is brought back by an empty piece."""
    text = re.sub(r'<span class="m">|</span>', "", prose_html(line))
    for tag, shift in (("sup", -4), ("sub", 3)):
        text = text.replace(f"<{tag}>", f'<tspan dy="{shift}" font-size="75%">')
        text = text.replace(f"</{tag}>", f'</tspan><tspan dy="{-shift}">\u200b</tspan>')
    for tag, style in (("i", 'font-style="italic"'), ("code", 'font-family="monospace"')):
        text = text.replace(f"<{tag}>", f"<tspan {style}>").replace(f"</{tag}>", "</tspan>")
    return text


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """Straight through each layer, and bent from one to the next, so that no box is crossed."""
    pieces = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for i, (x, y) in enumerate(points[1:], 1):
        before, height = points[i - 1]
        bend = (y - height) / 2
        crosses_layer = i % 2 == 1
        pieces.append(
            f"L{x:.1f},{y:.1f}"
            if crosses_layer
            else f"C{before:.1f},{height + bend:.1f} {x:.1f},{y - bend:.1f} {x:.1f},{y:.1f}"
        )
    return " ".join(pieces)


def _curve_tikz(points: Sequence[tuple[float, float]]) -> str:
    pieces = [_at(*points[0])]
    for i, (x, y) in enumerate(points[1:], 1):
        before, height = points[i - 1]
        bend = (y - height) / 2
        curved = f".. controls {_at(before, height + bend)} and {_at(x, y - bend)} .. {_at(x, y)}"
        pieces.append(f"-- {_at(x, y)}" if i % 2 == 1 else curved)
    return " ".join(pieces)


def _at(x: float, y: float) -> str:
    return f"({_cm(x)},{_cm(y)})"


def _cm(pixels: float) -> str:
    return f"{pixels / SCALE:.2f}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
