# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A chart of ratios as SVG: a bar for each case, the line at 1."""
from html import escape

ROW, LEFT, WIDTH, TOP = 18, 400, 420, 54
COLOURS = ("#2a6f97", "#e07a5f", "#81b29a", "#6d597a")


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
