# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Charts as SVG: ratios as bars with the line at 1, and curves with logarithmic axes."""
import math
from html import escape

ROW, LEFT, WIDTH, TOP = 18, 400, 420, 54
COLOURS = ("#2a6f97", "#e07a5f", "#81b29a", "#6d597a", "#bc6c25", "#3a3a3a")


def bars(title, subtitle, rows, most=1.25):
    """`rows` of (label, {series: ratio}); ratios above `most` end there with their number."""
    series = list(dict.fromkeys(name for _, values in rows for name in values))
    colours = dict(zip(series, COLOURS * len(series)))
    scale = WIDTH / most
    parts, y = [], TOP
    for label, values in rows:
        height = ROW * max(len(values), 1)
        parts.append(f'<text x="{LEFT - 8}" y="{y + height / 2 + 4}" text-anchor="end">{escape(label)}</text>')
        for n, (name, ratio) in enumerate(values.items()):
            top, width = y + n * ROW + 2, min(ratio, most) * scale
            parts.append(f'<rect x="{LEFT}" y="{top}" width="{width:.1f}" height="{ROW - 4}" fill="{colours[name]}"/>')
            parts.append(f'<text x="{LEFT + width + 4:.1f}" y="{top + 11}" font-size="11">{ratio:.2f}</text>')
        y += height + 6
    line = LEFT + scale
    legend = "".join(f'<rect x="{LEFT + n * 150}" y="{TOP - 20}" width="12" height="12" fill="{colours[name]}"/>'
                     f'<text x="{LEFT + n * 150 + 17}" y="{TOP - 10}">{escape(name)}</text>' for n, name in enumerate(series))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 60}" height="{y + 24}" '
            'font-family="sans-serif" font-size="12">\n'
            f'<rect width="100%" height="100%" fill="white"/><text x="10" y="18" font-size="15">{escape(title)}</text>'
            f'<text x="10" y="{y + 14}" font-size="11">{escape(subtitle)}</text>{legend}\n'
            + "\n".join(parts)
            + f'\n<line x1="{line}" x2="{line}" y1="{TOP - 4}" y2="{y}" stroke="black" stroke-dasharray="4 3"/>\n</svg>\n')


PANEL, GAP, HEIGHT = 380, 90, 320


def curves(title, subtitle, axis, panels):
    """Panels side by side, each (unit, {series: [(x, y), ...]}), both axes by powers of two."""
    series = list(dict.fromkeys(name for _, values in panels for name in values))
    colours = dict(zip(series, COLOURS))
    parts, top, bottom = [], 40, 40 + HEIGHT
    for number, (unit, values) in enumerate(panels):
        left = 60 + number * (PANEL + GAP)
        xs, ys = zip(*(point for points in values.values() for point in points))
        lows = [math.floor(math.log2(min(numbers))) for numbers in (xs, ys)]
        highs = [max(math.ceil(math.log2(max(numbers))), low + 1) for numbers, low in zip((xs, ys), lows)]
        across = lambda x: left + PANEL * (math.log2(x) - lows[0]) / (highs[0] - lows[0])
        down = lambda y: bottom - HEIGHT * (math.log2(y) - lows[1]) / (highs[1] - lows[1])
        for power in range(lows[1], highs[1] + 1, max(1, (highs[1] - lows[1]) // 8)):
            y = down(2.0**power)
            parts.append(f'<line x1="{left}" x2="{left + PANEL}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>'
                         f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end" font-size="11">{2.0**power:g}</text>')
        for power in range(lows[0], highs[0] + 1):
            parts.append(f'<text x="{across(2.0**power):.1f}" y="{bottom + 16}" text-anchor="middle" font-size="11">{2**power}</text>')
        parts.append(f'<text x="{left}" y="{top - 6}">{escape(unit)}</text>'
                     f'<text x="{left + PANEL}" y="{bottom + 32}" text-anchor="end">{escape(axis)}</text>')
        for name, points in values.items():
            places = [(across(x), down(y)) for x, y in points]
            parts.append(f'<polyline fill="none" stroke="{colours[name]}" stroke-width="2" points="'
                         + " ".join(f"{x:.1f},{y:.1f}" for x, y in places) + '"/>'
                         + "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colours[name]}"/>' for x, y in places))
    width, columns = 60 + len(panels) * (PANEL + GAP), 3
    for n, name in enumerate(series):
        x, y = 60 + n % columns * (width - 60) // columns, bottom + 56 + n // columns * ROW
        parts.append(f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{colours[name]}"/>'
                     f'<text x="{x + 17}" y="{y}">{escape(name)}</text>')
    height = bottom + 64 + -(-len(series) // columns) * ROW
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height + 12}" font-family="sans-serif" font-size="12">\n'
            f'<rect width="100%" height="100%" fill="white"/><text x="10" y="18" font-size="15">{escape(title)}</text>'
            f'<text x="10" y="{height}" font-size="11">{escape(subtitle)}</text>\n' + "\n".join(parts) + "\n</svg>\n")
