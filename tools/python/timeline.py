"""The ranks of a run over time: reads what `pmrun --trace` wrote and draws one
step of it as an SVG picture. tools/plot-timeline is its command."""

import json
import re
from xml.sax.saxutils import escape

import curves

# What a rank can be doing, in the order of the legend. Hue and lightness both
# differ, so that the picture can be read in grey and by the colour-blind.
COLOURS = {"prologue": "#a0aec0", "forward": "#2b6cb0", "backward": "#dd6b20",
           "reduce": "#6b46c1", "update": "#2f855a",
           "communication": "#b83280", "waiting": "#edf0f4"}
NAMES = {"prologue": "prologue", "forward": "forward", "backward": "backward",
         "reduce": "reduction of gradients", "update": "update",
         "communication": "moving data", "waiting": "waiting for other ranks"}
# Gradients of inputs and of weights are both backward work.
KINDS = {"input_gradient": "backward", "weight_gradient": "backward"}
COMMUNICATION = ("collective", "transfer", "send", "receive")


class TraceError(Exception):
    """A file that holds no trace of pmrun."""


class Span:
    """A stretch of a rank's time, in microseconds: an action with the
    instructions in it, or a transfer between actions."""

    def __init__(self, event):
        arguments = event.get("args", {})
        self.name, self.category = event["name"], event.get("cat", "")
        self.begin, self.end = event["ts"], event["ts"] + event["dur"]
        kind = arguments.get("kind", "")
        self.kind = KINDS.get(kind, kind)
        self.stage = arguments.get("stage")
        self.micro_batch = arguments.get("micro_batch")
        self.step = arguments.get("step")
        self.location = arguments.get("location", "")
        self.peer = arguments.get("peer")
        self.waited = arguments.get("wait_us", 0.0)
        self.parts = []  # the instructions of an action

    @property
    def is_action(self):
        return self.category == "action"

    def waits(self):
        """The stretches (begin, end, what) in which it waited for others. A
        collective waits first and moves data then."""
        if not self.is_action:
            if self.waited > 0:
                yield self.begin, self.begin + self.waited, self
            return
        for part in self.parts:
            yield from part.waits()

    def moves(self):
        """The stretches in which it moved data between ranks."""
        if self.is_action:
            for part in self.parts:
                yield from part.moves()
        elif self.category in COMMUNICATION and self.end > self.begin:
            yield self.begin + self.waited, self.end, self


class Rank:
    """One rank: its number, its coordinates and its spans in order."""

    def __init__(self, number, name):
        self.number, self.name = number, name
        self.coordinates = [(axis, int(index)) for axis, index in
                            re.findall(r"([\w.]+)=(\d+)", name)]
        self.spans = []

    def order(self):
        """Ranks of one stage together, else in the order of the mesh."""
        stage = [index for axis, index in self.coordinates if axis == "pp"]
        return stage, self.number

    def label(self):
        return " ".join(f"{axis}={index}" for axis, index in self.coordinates)


def read(path):
    """The ranks of a trace file in the order of their numbers."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}")
    except (ValueError, RecursionError):
        raise TraceError(f"{path}: is not a trace in JSON")
    events = content.get("traceEvents") if isinstance(content, dict) else content
    if not isinstance(events, list):
        raise TraceError(f"{path}: has no list 'traceEvents'")
    ranks = {}
    try:
        for event in events:
            if event.get("ph") == "M" and event["name"] == "process_name":
                number = event["pid"]
                ranks[number] = Rank(number, event["args"]["name"])
        for event in events:
            if event.get("ph") == "X":
                number = event["pid"]
                rank = ranks.setdefault(number, Rank(number, f"rank {number}"))
                add(rank.spans, Span(event))
    except (AttributeError, KeyError, TypeError):
        raise TraceError(f"{path}: holds an event that is none of pmrun's")
    ranks = [ranks[number] for number in sorted(ranks)]
    if not any(rank.spans for rank in ranks):
        raise TraceError(f"{path}: no rank did anything in it")
    return ranks


def add(spans, span):
    """Appends a span, or puts an instruction into the action around it."""
    if spans and spans[-1].is_action and not span.is_action and \
            span.begin < spans[-1].end and span.end <= spans[-1].end + 0.5:
        spans[-1].parts.append(span)
    else:
        spans.append(span)


def steps_of(rank):
    """The rank's spans, a list for each step. A step begins where the trace
    says so or, in a trace without step numbers, where an action comes again."""
    steps, seen = [], set()
    number = None
    waiting = []  # transfers, which belong to the action after them
    for span in rank.spans:
        if span.step is not None:
            if not steps or span.step != number:
                steps.append([])
                number = span.step
            steps[-1].append(span)
            continue
        if not span.is_action:
            waiting.append(span)
            continue
        key = span.name, span.micro_batch
        if key in seen or not steps:
            # What was sent behind the last action is still of its step.
            if steps:
                while waiting and waiting[0].name.startswith("send"):
                    steps[-1].append(waiting.pop(0))
            steps.append([])
            seen = set()
        seen.add(key)
        steps[-1] += waiting + [span]
        waiting = []
    if steps:
        steps[-1] += waiting
    return steps


def length(stretches):
    """The time that a list of stretches (begin, end) covers."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(stretches):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


class Lane:
    """What one rank did in one step."""

    def __init__(self, rank, spans):
        self.rank, self.spans = rank, spans
        self.waits = [w for span in spans for w in span.waits()]
        self.moves = [m for span in spans for m in span.moves()]
        self.begin = min(span.begin for span in spans)
        self.end = max(span.end for span in spans)
        # Between two spans a rank waits too: for all others to agree that the
        # step may change the state. Microseconds are the trace's own time.
        self.gaps = [(before.end, after.begin, None) for before, after in
                     zip(spans, spans[1:]) if after.begin - before.end > 20]

    def busy(self):
        """Microseconds in which it computed or moved data."""
        return length((s.begin, s.end) for s in self.spans) - \
            length((begin, end) for begin, end, _ in self.waits)


class Step:
    """One step of all ranks, from its first action to its last."""

    def __init__(self, ranks, number=None):
        every = [(rank, steps_of(rank)) for rank in ranks]
        every = [(rank, steps) for rank, steps in every if steps]
        self.count = min(len(steps) for _, steps in every)
        self.number = self.count - 1 if number is None else number
        if not 0 <= self.number < self.count:
            raise TraceError(f"there is no step {number}; the trace has "
                             f"{self.count}, counted from 0")
        self.lanes = [Lane(rank, steps[self.number]) for rank, steps in every]
        self.lanes.sort(key=lambda lane: lane.rank.order())
        self.begin = min(lane.begin for lane in self.lanes)
        self.end = max(lane.end for lane in self.lanes)

    def busy_share(self, lane):
        return lane.busy() / max(self.end - self.begin, 1e-9)


def ms(microseconds):
    return f"{microseconds / 1e3:.3g} ms" if microseconds < 1e6 else \
        f"{microseconds / 1e3:.0f} ms"


def tooltip(span, origin):
    """A span in words."""
    if not span.is_action:
        text = [span.name + (f" {span.location}" if span.location else "")]
        if span.peer is not None:
            text.append(f"{'to' if span.name.startswith('send') else 'from'} rank "
                        f"{span.peer}")
    else:
        text = [f"{span.kind or span.name}"]
        if span.stage is not None:
            text.append(f"stage {span.stage}")
    if span.micro_batch is not None and \
            span.kind in ("", "forward", "backward"):
        text.append(f"micro-batch {span.micro_batch}")
    lines = [", ".join(text),
             f"{ms(span.end - span.begin)} from {ms(span.begin - origin)} on"]
    times = {}
    for part in span.parts:
        name = {"gemm": "matrix products", "kernel": "kernels",
                "collective": "collectives"}.get(part.category, "copies, zeroing")
        times[name] = times.get(name, 0.0) + part.end - part.begin - part.waited
        if part.waited:
            times["waiting"] = times.get("waiting", 0.0) + part.waited
    lines += [f"{name}: {ms(time)}" for name, time in
              sorted(times.items(), key=lambda item: -item[1])]
    if not span.is_action and span.waited:
        lines.append(f"waiting: {ms(span.waited)}")
    return "\n".join(lines)


def joined(stretches, gap):
    """Stretches that are less than `gap` apart as one, for fewer rectangles;
    what each is of is kept where it is alone."""
    out = []
    for begin, end, what in sorted(stretches, key=lambda s: s[:2]):
        if out and begin - out[-1][1] < gap:
            out[-1] = (out[-1][0], max(out[-1][1], end), None)
        else:
            out.append((begin, end, what))
    return out


def svg(step, title, width=1200):
    """The picture as text."""
    lane_height, gap, group_gap = 34, 8, 18
    left, right, top, bottom = 158, 92, 92, 58
    groups = []
    for lane in step.lanes:
        stage = lane.rank.order()[0]
        if not groups or groups[-1][0] != stage:
            groups.append((stage, []))
        groups[-1][1].append(lane)
    height = top + bottom + len(step.lanes) * (lane_height + gap) + \
        group_gap * (len(groups) - 1)
    span = max(step.end - step.begin, 1e-9)
    scale = (width - left - right) / span

    def px(time):
        return left + (time - step.begin) * scale

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
           f'height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="Helvetica, Arial, sans-serif" font-size="13">',
           '<defs><pattern id="waiting" width="6" height="6" '
           'patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
           f'<rect width="6" height="6" fill="{COLOURS["waiting"]}"/>'
           '<line x1="0" y1="0" x2="0" y2="6" stroke="#a0aec0" '
           'stroke-width="2.4"/></pattern></defs>',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="20" y="28" font-size="17" font-weight="bold" '
           f'fill="#1a202c">{escape(title)}</text>']
    out += legend(step, 20, 50)
    bottom_line = height - bottom
    values = curves.ticks(0, span / 1e3, 10)
    for value, text in zip(values, curves.tick_texts(values)):
        x = px(step.begin + value * 1e3)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 8}" '
                   f'y2="{bottom_line + 5}" stroke="#e2e8f0"/>')
        out.append(f'<text x="{x:.1f}" y="{bottom_line + 21}" '
                   f'text-anchor="middle" fill="#4a5568">{text}</text>')
    out.append(f'<text x="{(left + width - right) / 2:.0f}" '
               f'y="{height - 14}" text-anchor="middle" fill="#1a202c">'
               f'milliseconds from the start of the step</text>')
    out.append(f'<text x="{width - right + 14}" y="{top - 14}" '
               'fill="#4a5568">busy</text>')
    y = top
    for index, (_, lanes) in enumerate(groups):
        if index:
            middle = y + (group_gap - gap) / 2
            out.append(f'<line x1="20" x2="{width - 20}" y1="{middle:.0f}" '
                       f'y2="{middle:.0f}" stroke="#cbd5e0"/>')
            y += group_gap
        for lane in lanes:
            out += draw_lane(lane, step, y, lane_height, px, scale,
                             width - right)
            y += lane_height + gap
    out.append("</svg>")
    return "\n".join(out) + "\n"


def legend(step, x, y):
    """A swatch for each thing that happens in the step."""
    kinds = {span.kind for lane in step.lanes for span in lane.spans}
    if any(lane.moves for lane in step.lanes):
        kinds.add("communication")
    if any(lane.waits or lane.gaps for lane in step.lanes):
        kinds.add("waiting")
    out = []
    for kind, colour in COLOURS.items():
        if kind not in kinds:
            continue
        fill = "url(#waiting)" if kind == "waiting" else colour
        out.append(f'<rect x="{x}" y="{y}" width="16" height="14" rx="2" '
                   f'fill="{fill}"/>')
        out.append(f'<text x="{x + 22}" y="{y + 12}" fill="#1a202c">'
                   f'{NAMES[kind]}</text>')
        x += 46 + 6.8 * len(NAMES[kind])
    out.append(f'<text x="{x:.0f}" y="{y + 12}" fill="#4a5568">'
               'numbers are micro-batches</text>')
    return out


def draw_lane(lane, step, y, height, px, scale, right):
    """One rank: its name, its boxes, and the share of the step it was busy."""
    out = [f'<text x="20" y="{y + 15}" font-weight="bold" fill="#1a202c">'
           f'rank {lane.rank.number}</text>',
           f'<text x="20" y="{y + 30}" fill="#4a5568" font-size="12">'
           f'{escape(lane.rank.label())}</text>',
           f'<rect x="{px(step.begin):.1f}" y="{y}" '
           f'width="{right - px(step.begin):.1f}" height="{height}" '
           'fill="#f7fafc"/>']

    def box(begin, end, fill, text, inset=0):
        wide = max((end - begin) * scale, 0.3)
        out.append(f'<rect x="{px(begin):.2f}" y="{y + inset}" '
                   f'width="{wide:.2f}" height="{height - 2 * inset}" '
                   f'fill="{fill}"><title>{escape(text)}</title></rect>')

    for span in lane.spans:
        if span.is_action:
            box(span.begin, span.end, COLOURS.get(span.kind, "#718096"),
                tooltip(span, step.begin))

    def overlay(stretches, fill, name, inset):
        # Half a pixel is the least that can be seen.
        for begin, end, what in joined(stretches, 0.5 / scale):
            if (end - begin) * scale < 0.3:
                continue
            text = f"{name}: {ms(end - begin)} from " \
                   f"{ms(begin - step.begin)} on"
            if what is not None:
                text = tooltip(what, step.begin)
            box(begin, end, fill, text, inset)

    # Inside of an action its colour stays to be seen above and below.
    for inside in (True, False):
        spans = [span for span in lane.spans if span.is_action == inside]
        inset = 6 if inside else 0
        if not inside:
            overlay(lane.gaps, "url(#waiting)", NAMES["waiting"], inset)
        overlay([m for span in spans for m in span.moves()],
                COLOURS["communication"], NAMES["communication"], inset)
        overlay([w for span in spans for w in span.waits()], "url(#waiting)",
                NAMES["waiting"], inset)
    for span in lane.spans:
        if not span.is_action:
            continue
        wide = (span.end - span.begin) * scale
        # White edges keep actions apart that follow each other at once.
        if wide > 3:
            out.append(f'<rect x="{px(span.begin):.2f}" y="{y}" '
                       f'width="{wide:.2f}" height="{height}" fill="none" '
                       'stroke="white" stroke-width="1" pointer-events="none"/>')
        if span.kind in ("forward", "backward") and wide > 11:
            out.append(
                f'<text x="{px(span.begin) + wide / 2:.1f}" '
                f'y="{y + height / 2 + 5:.1f}" text-anchor="middle" '
                'font-weight="bold" fill="white" stroke="#1a202c" '
                'stroke-width="2.4" stroke-linejoin="round" '
                'paint-order="stroke" pointer-events="none">'
                f'{span.micro_batch}</text>')
    share = step.busy_share(lane)
    out.append(f'<text x="{right + 14}" y="{y + 16}" font-weight="bold" '
               f'fill="#1a202c">{100 * share:.0f} %'
               f'<title>{ms(lane.busy())} of {ms(step.end - step.begin)}'
               '</title></text>')
    out.append(f'<rect x="{right + 14}" y="{y + 23}" width="58" height="6" '
               'fill="#e2e8f0"/>')
    out.append(f'<rect x="{right + 14}" y="{y + 23}" '
               f'width="{58 * min(share, 1):.1f}" height="6" fill="#4a5568"/>')
    return out
