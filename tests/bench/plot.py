"""plot.py: how many times faster than ONNX Runtime ox is, a bar for each case, written as plain SVG."""

import math
from xml.sax.saxutils import escape

ROW, BAR, LEFT, PLOT, RIGHT, TOP, BOTTOM = 17, 11, 250, 560, 60, 66, 34
WIDTH = LEFT + PLOT + RIGHT
TICKS = [1 / 64, 1 / 32, 1 / 16, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128]
FASTER, SLOWER, PEER, INK, GRID = "#2f6f9f", "#b5523b", "#222222", "#222222", "#dddddd"


class Scale:
    """Ratios to pixels; one octave at least on each side of 1."""

    def __init__(self, ratios):
        self.low = math.floor(math.log2(min([0.5, *ratios])))
        self.high = math.ceil(math.log2(max([2, *ratios])))

    def __call__(self, ratio):
        return LEFT + PLOT * (math.log2(ratio) - self.low) / (self.high - self.low)

    def ticks(self):
        return [t for t in TICKS if self.low <= math.log2(t) <= self.high]


def text(x, y, content, anchor="start", size=11, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{extra}>{escape(content)}</text>'


def line(x1, y1, x2, y2, color, width=1.0):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width}"/>'


def axis(scale, height):
    parts = []
    for tick in scale.ticks():
        x = scale(tick)
        parts.append(line(x, TOP - 6, x, height - BOTTOM, INK if tick == 1 else GRID, 1.2 if tick == 1 else 1))
        for y in (TOP - 11, height - BOTTOM + 15):
            parts.append(text(x, y, f"{tick:g}×" if tick >= 1 else f"1/{1 / tick:g}", "middle"))
    return parts


def legend():
    y, parts = 38, []
    for x, color, label in [(LEFT, FASTER, "ox faster"), (LEFT + 90, SLOWER, "ox slower")]:
        parts.append(f'<rect x="{x}" y="{y - 9}" width="12" height="{BAR}" fill="{color}"/>')
        parts.append(text(x + 17, y, label))
    parts.append(line(LEFT + 186, y - 11, LEFT + 186, y + 3, PEER, 2))
    parts.append(text(LEFT + 193, y, "the fastest other peer, where that is not ONNX Runtime"))
    return parts


def bar(scale, y, name, ratio, peer):
    """One row: the name, the bar, its ratio, and a mark for the fastest peer."""
    parts = [text(LEFT - 8, y + 9, name, "end")]
    if ratio is None:
        return parts + [text(scale(1) + 5, y + 9, "one of the two lacks it", extra=' fill="#777777"')]
    start, end = sorted((scale(1), scale(ratio)))
    color = FASTER if ratio >= 1 else SLOWER
    parts.append(f'<rect x="{start:.1f}" y="{y}" width="{max(end - start, 0.5):.1f}" height="{BAR}" fill="{color}"/>')
    if peer is not None:
        x = scale(peer)
        parts.append(line(x, y - 2, x, y + BAR + 2, "#ffffff", 4) + line(x, y - 2, x, y + BAR + 2, PEER, 2))
        end = max(end, x)
    return parts + [text(end + 5, y + 9, f"{ratio:.2f}")]


def draw(rows):
    """The plot of [(name, group, ratio or None, the fastest peer's ratio or None)]."""
    height = TOP + ROW * len(rows) + BOTTOM
    scale = Scale([r for row in rows for r in row[2:] if r])
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
             f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" fill="{INK}">',
             f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
             text(12, 20, "How many times faster than ONNX Runtime, one thread", size=15, extra=' font-weight="bold"')]
    parts += legend() + axis(scale, height)
    group = rows[0][1] if rows else None
    for i, (name, row_group, ratio, peer) in enumerate(rows):
        y = TOP + ROW * i
        if row_group != group:
            parts.append(line(12, y - 3.5, LEFT + PLOT, y - 3.5, GRID))
            group = row_group
        parts += bar(scale, y, name, ratio, peer)
    return "\n".join(parts + ["</svg>"]) + "\n"
