"""Where the time of each rank went, from a trace that pmrun --trace wrote."""

import json


class RankTime:
    """Seconds of one rank by kind of work, within `total` seconds."""

    def __init__(self):
        self.by_kind = {}
        self.first = float("inf")
        self.last = 0.0

    @property
    def total(self):
        return max(0.0, self.last - self.first)

    @property
    def idle(self):
        return max(0.0, self.total - sum(self.by_kind.values()))


def read(path):
    """Returns {rank: RankTime}. An event's category is its kind; only complete
    events ("ph": "X") that lie inside no other one of their thread count, or
    whose category is that of an instruction."""
    with open(path) as file:
        content = json.load(file)
    events = content["traceEvents"] if isinstance(content, dict) else content
    ranks = {}
    for event in events:
        if event.get("ph") != "X" or event.get("cat") in ("step", "action"):
            continue
        rank = ranks.setdefault(event["pid"], RankTime())
        seconds = event["dur"] * 1e-6
        kind = event.get("cat") or "other"
        rank.by_kind[kind] = rank.by_kind.get(kind, 0.0) + seconds
        rank.first = min(rank.first, event["ts"] * 1e-6)
        rank.last = max(rank.last, event["ts"] * 1e-6 + seconds)
    return ranks


COLOURS = [34, 32, 33, 35, 36, 31]
SHADES = "█▓▒░◆◇"


def bars(ranks, width=60, colour=True):
    """A bar for each rank and the shares in per cent, as lines of text."""
    kinds = sorted({kind for rank in ranks.values() for kind in rank.by_kind},
                   key=lambda kind: -sum(rank.by_kind.get(kind, 0.0)
                                         for rank in ranks.values()))
    lines = []
    for name in sorted(ranks):
        rank = ranks[name]
        bar, shares = "", []
        for i, kind in enumerate(kinds + ["idle"]):
            seconds = rank.idle if kind == "idle" else rank.by_kind.get(kind, 0.0)
            share = seconds / rank.total if rank.total else 0.0
            shares.append(f"{kind} {share:.0%}")
            cells = round(share * width)
            if kind == "idle":
                bar += "·" * cells
            elif colour:
                bar += f"\x1b[{COLOURS[i % 6]}m{'█' * cells}\x1b[0m"
            else:
                bar += SHADES[i % 6] * cells
        lines.append(f"  rank {name}  {bar}  {rank.total:.2f} s")
        lines.append(f"          {', '.join(shares)}")
    return "\n".join(lines)
