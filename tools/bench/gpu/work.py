# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Does steps of the plan one after the other, in a process of its own, and prints a line of JSON for each; ends at the first failure, which may have
spoilt the GPU: work.py [--torch] STEPS"""
import json
import math
import statistics
import sys
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from attn_api import Model  # noqa: E402
from cases import cases_of, check  # noqa: E402
from devices import Driver, Torch  # noqa: E402


def timed(device, call, count):
    if not hasattr(call, "wall"):
        return device.time(call, count)
    begin = time.perf_counter()
    for _ in range(count):
        call()
    call.wall()
    return 1e3 * (time.perf_counter() - begin) / count


def contestant(device, make, graph):
    """(call, runs in it, how often it is called in a round, whether it is a graph) of a contestant, which has run."""
    call = make()
    for _ in range(3):
        call()
    device.wait()
    once = timed(device, call, 1)
    runs, kind = 1, "calls"
    if graph and not hasattr(call, "wall"):
        try:
            replay = device.graphed(call, device.graph_calls)
            replay()
            device.wait()
            call, runs, kind = replay, device.graph_calls, f"graph of {device.graph_calls}"
        except Exception as error:  # what cannot be captured is called one by one
            kind = f"calls, no graph: {type(error).__name__}"
    count = min(50, max(1, math.ceil(1e3 * device.least / max(runs * once, 1e-3))))
    return call, runs, count, kind


def contest(device, contestants, graph):
    """Medians of rounds in which all that work take turns; of the others, why they do not."""
    times, ready, found = {}, {}, {}
    for name, make in contestants.items():
        try:
            ready[name] = contestant(device, make, graph)
            times[name] = []
        except Exception as error:  # whatever a peer does, the others go on
            if name == "attn":
                raise
            found[name] = {"problem": f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"}
    begin = time.perf_counter()
    for done in range(device.rounds):
        if done >= 5 and time.perf_counter() - begin > device.budget:
            break
        for name, (call, runs, count, kind) in ready.items():
            times[name].append(timed(device, call, count) / runs)
    for name, own in times.items():
        found[name] = {"median_ms": statistics.median(own), "minimum_ms": min(own), "rounds": len(own), "by": ready[name][3]}
    return found


def measure(device, phase, case, code):
    result = {"label": case.label, "kind": case.kind, "code": code, **check(device, case)}
    peers = {"times": case.libraries, "compiled": case.compilers}.get(phase, {})
    if phase != "smoke":
        device.wait()
        is_short = device.time(case.call, 3) < device.short
        result["times"] = contest(device, {"attn": lambda: case.call, **peers}, is_short)
        result |= {name: value for name in ("flop", "bytes") if (value := getattr(case, name))}
    return result


def step_results(device, step):
    if step["kind"] == "copy":
        call, count = device.copy()
        times = contest(device, {"copy": lambda: call}, False)
        return [{"label": f"copy of {count / 2e6:.1f} MB", "kind": "copy", "times": times, "bytes": count}]
    artifact = step["artifact"]
    model = Model(HERE / artifact[step.get("file", "file")], artifact["symbol"], device, waits="file" in step)
    results = [measure(device, step["phase"], case, model.code) for case in cases_of(device, model, artifact, artifact["runs"][step["run"]])]
    model.close()
    return results


def main():
    steps = json.loads(sys.argv[-1])
    try:
        device = Torch() if "--torch" in sys.argv else Driver()
    except Exception as error:
        print(json.dumps({"nothing": f"{type(error).__name__}: {error}"}), flush=True)
        sys.exit(1)
    print(json.dumps({"about": device.describe()}), flush=True)
    for step in steps:
        line = {}
        try:
            line["results"] = step_results(device, step)
        except Exception as error:
            line["problem"] = f"{type(error).__name__}: {error}"
            traceback.print_exc()
        print(json.dumps(line), flush=True)
        if "problem" in line:
            sys.exit(1)


main()
