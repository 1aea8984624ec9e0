"""Draws curves as an SVG picture and as text for a terminal."""

import math
from xml.sax.saxutils import escape

# Distinct in hue and in lightness, so that they stay apart in grey.
COLOURS = ["#2b6cb0", "#dd6b20", "#2f855a", "#9b2c2c", "#6b46c1"]
TERMINAL_COLOURS = [34, 33, 32, 31, 35]


class Series:
    """A curve: `label` for the legend, and its points (x, y) in order of x."""

    def __init__(self, label, points):
        self.label = label
        self.points = [(x, y) for x, y in points if math.isfinite(y)]


def smoothed(series, span):
    """The mean of each point and the up to span - 1 points before it."""
    out = []
    total = 0.0
    for i, (x, y) in enumerate(series.points):
        total += y
        if i >= span:
            total -= series.points[i - span][1]
        out.append((x, total / min(i + 1, span)))
    return Series(series.label, out)


def ticks(low, high, count):
    """Round numbers (steps of 1, 2 or 5 times a power of ten) that lie within
    [low, high], about `count` of them."""
    if high <= low:
        return [low]
    rough = (high - low) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def tick_texts(values):
    """The ticks with as many digits as tell neighbours apart."""
    if len(values) < 2:
        return [f"{value:g}" for value in values]
    step = values[1] - values[0]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [f"{value:.{digits}f}" for value in values]


def bounds(all_series):
    points = [point for series in all_series for point in series.points]
    if not points:
        raise ValueError("there is no point to draw")
    xs, ys = [x for x, _ in points], [y for _, y in points]
    low, high = min(ys), max(ys)
    margin = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    right = max(xs) if max(xs) > min(xs) else min(xs) + 1
    return min(xs), right, low - margin, high + margin


def svg(all_series, title, x_name, y_name, width=760, height=440):
    """The picture as text. The first curve is drawn wide and later ones narrow
    and dashed, so that curves which lie on each other can all be seen."""
    left, right, top, bottom = 74, 24, 52, 58
    x0, x1, y0, y1 = bounds(all_series)

    def px(x):
        return left + (x - x0) / (x1 - x0) * (width - left - right)

    def py(y):
        return height - bottom - (y - y0) / (y1 - y0) * (height - top - bottom)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
           f'height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="Helvetica, Arial, sans-serif" font-size="13">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="26" font-size="16" font-weight="bold" '
           f'fill="#1a202c">{escape(title)}</text>']
    values = ticks(y0, y1, 6)
    for value, text in zip(values, tick_texts(values)):
        out.append(f'<line x1="{left}" x2="{width - right}" y1="{py(value):.1f}" '
                   f'y2="{py(value):.1f}" stroke="#e2e8f0"/>')
        out.append(f'<text x="{left - 8}" y="{py(value) + 4:.1f}" '
                   f'text-anchor="end" fill="#4a5568">{text}</text>')
    values = ticks(x0, x1, 8)
    for value, text in zip(values, tick_texts(values)):
        out.append(f'<line x1="{px(value):.1f}" x2="{px(value):.1f}" '
                   f'y1="{height - bottom}" y2="{height - bottom + 5}" '
                   'stroke="#4a5568"/>')
        out.append(f'<text x="{px(value):.1f}" y="{height - bottom + 20}" '
                   f'text-anchor="middle" fill="#4a5568">{text}</text>')
    out.append(f'<path d="M{left} {top} V{height - bottom} H{width - right}" '
               'fill="none" stroke="#4a5568"/>')
    out.append(f'<text x="{(left + width - right) / 2:.0f}" y="{height - 14}" '
               f'text-anchor="middle" fill="#1a202c">{escape(x_name)}</text>')
    middle = (top + height - bottom) / 2
    out.append(f'<text x="20" y="{middle:.0f}" text-anchor="middle" '
               f'fill="#1a202c" transform="rotate(-90 20 {middle:.0f})">'
               f'{escape(y_name)}</text>')
    longest = max(len(series.label) for series in all_series)
    legend = width - right - 52 - 7.2 * longest
    for i, series in enumerate(all_series):
        if not series.points:
            continue
        colour = COLOURS[i % len(COLOURS)]
        style = ('stroke-width="4.5" stroke-opacity="0.5"' if i == 0 and
                 len(all_series) > 1 else 'stroke-width="1.8"' +
                 (' stroke-dasharray="7 3"' if i else ""))
        path = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in series.points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                   f'stroke-linejoin="round" {style}/>')
        if len(series.points) == 1:
            x, y = series.points[0]
            out.append(f'<circle cx="{px(x):.1f}" cy="{py(y):.1f}" r="4" '
                       f'fill="{colour}"/>')
        y = top + 14 + 20 * i
        out.append(f'<line x1="{legend:.0f}" x2="{legend + 34:.0f}" y1="{y}" '
                   f'y2="{y}" stroke="{colour}" {style}/>')
        out.append(f'<text x="{legend + 42:.0f}" y="{y + 4}" fill="#1a202c">'
                   f'{escape(series.label)}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


# Bits of a braille character by row and column of its eight dots.
DOTS = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]]


def terminal(all_series, x_name, y_name, width=72, height=16, colour=True):
    """The curves as lines of text, eight dots to a character. Where curves
    share a character it has the later one's colour."""
    x0, x1, y0, y1 = bounds(all_series)
    cells = [[0] * width for _ in range(height)]
    owner = [[0] * width for _ in range(height)]

    def dot(column, row, who):
        cells[row // 4][column // 2] |= DOTS[row % 4][column % 2]
        owner[row // 4][column // 2] = who

    for who, series in enumerate(all_series):
        previous = None
        for x, y in series.points:
            column = round((x - x0) / (x1 - x0) * (2 * width - 1))
            row = round((y1 - y) / (y1 - y0) * (4 * height - 1))
            # A line to the previous point, one dot a column or a row.
            c0, r0 = previous or (column, row)
            steps = max(abs(column - c0), abs(row - r0), 1)
            for i in range(steps + 1):
                dot(c0 + round((column - c0) * i / steps),
                    r0 + round((row - r0) * i / steps), who)
            previous = (column, row)

    def paint(text, who):
        if not colour:
            return text
        return f"\x1b[{TERMINAL_COLOURS[who % 5]}m{text}\x1b[0m"

    values = ticks(y0, y1, max(2, height // 3))
    names = {}
    for value, text in zip(values, tick_texts(values)):
        row = round((y1 - value) / (y1 - y0) * (4 * height - 1)) // 4
        names[row] = text
    margin = max(len(text) for text in names.values()) if names else 0
    lines = [" " * margin + " " + y_name]
    for row in range(height):
        line = names.get(row, "").rjust(margin) + (" ┤" if row in names else " │")
        for column in range(width):
            bits = cells[row][column]
            line += paint(chr(0x2800 + bits), owner[row][column]) if bits else " "
        lines.append(line.rstrip())
    lines.append(" " * margin + " └" + "─" * width)
    axis = [" "] * (width + 12)
    values = ticks(x0, x1, 6)
    for value, text in zip(values, tick_texts(values)):
        start = round((value - x0) / (x1 - x0) * (width - 1))
        axis[start:start + len(text)] = text
    lines.append((" " * (margin + 2) + "".join(axis)).rstrip() + "  " + x_name)
    lines.append(" " * (margin + 2) + "   ".join(
        paint("━━", i) + " " + series.label
        for i, series in enumerate(all_series)))
    return "\n".join(lines)
