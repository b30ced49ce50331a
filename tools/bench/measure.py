# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Timing engines in turns, and what the times say."""
import os
import statistics
from dataclasses import dataclass

TURN_MS = 150  # that an engine runs on end
MOST_RUNS = 20  # in a turn


@dataclass
class Times:
    """Of one engine, in milliseconds."""

    minimum: float
    median: float
    p90: float
    runs: int


def summarize(times):
    ordered = sorted(times)
    return Times(ordered[0], statistics.median(ordered), ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)],
                 len(ordered))


def runs_per_turn(milliseconds):
    """As many as take TURN_MS, at least 1."""
    return max(1, min(MOST_RUNS, round(TURN_MS / max(milliseconds, 1e-3))))


def interleave(engines, rounds, progress=lambda done: None):
    """Runs the engines in turns, who begins changes from round to round. A turn begins with a run that does not count:
    it brings weights back into the caches, and is left out where a run takes longer than a turn. A list of times per
    engine."""
    once = [min(engine.run(2, 2)) if engine.run(0, 1)[0] < TURN_MS else TURN_MS for engine in engines]
    times = [[] for _ in engines]
    for n in range(rounds):
        for turn in range(len(engines)):
            e = (turn + n) % len(engines)
            times[e] += engines[e].run(int(once[e] < TURN_MS), runs_per_turn(once[e]))
        progress(n + 1)
    return times


class OtherLoad:
    """The share of the CPUs' time that neither these engines nor this program nor idling had, between two moments. A
    comparison in which it is large says little."""

    def __init__(self, engines):
        self.engines = engines
        self.begin = self.now()

    def now(self):
        with open("/proc/stat") as file:
            # user nice system idle iowait irq softirq steal
            fields = [int(word) for word in file.readline().split()[1:9]]
        own = os.times()
        ticks = os.sysconf("SC_CLK_TCK")
        ours = sum(engine.cpu_ticks() for engine in self.engines) + (own.user + own.system) * ticks
        return sum(fields), fields[3] + fields[4], ours

    def share(self):
        whole, idle, ours = (after - before for after, before in zip(self.now(), self.begin))
        return max(0.0, (whole - idle - ours) / max(1, whole))
