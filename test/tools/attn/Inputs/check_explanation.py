# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds `attn explain --json` against the lines, against profiles, and against masks pair by pair. Usage: check_explanation.py EXAMPLES FOLDER"""
import json
import os
import subprocess
import sys

examples, folder = sys.argv[1:]
LEVEL = "x86-64-v3"
MASKED = """attn 1
use std.masks
model M {
  dim H = 2, E = 16
  dyn B <= 3, T <= 900
  entry run(q: [B, T, H, E], k: [B, T, H, E], v: [B, T, H, E]) -> [B, T, H, E] {
    return attend q over k, v along T as S { score scaled_dot mask causal and window(70, 0) }
  }
}
"""


def attn(*words):
    return subprocess.run(["attn", *words], capture_output=True, text=True, check=True).stdout


TWICE = """attn 1
model M {
  dim D = 64, L = 2
  dyn T <= 100
  stack layers: L of Layer
  block Layer(x: [T, D]) -> [T, D] {
    linear a: D -> D
    return x + a(x)
  }
  entry run(x: [T, D]) -> [T, D] {
    return layers(layers(x))
  }
}
"""


def explained(path, *options):
    explanation = json.loads(attn("explain", path, f"--target={LEVEL}", *options, "--json"))
    assert explanation["schema"] == "attn.explain" and explanation["schema_version"] == 1
    assert explanation["spec"] == path and [target["name"] for target in explanation["targets"]] == [LEVEL]
    return explanation


def calls_of(steps, factor=1):
    """How often each kernel is called, by the steps of an entry."""
    counts = {}
    for step in steps:
        own = calls_of(step["steps"], factor * step["calls"]) if "steps" in step else {step["function"]: factor * step["calls"]}
        for name, count in own.items():
            counts[name] = counts.get(name, 0) + count
    return counts


def check_lines(path, target):
    lines = [line.strip() for line in attn("explain", path, f"--target={LEVEL}").splitlines()]
    for kernel in target["kernels"]:
        head = f"{kernel['function']} ({kernel['at']})"
        found = [i for i, line in enumerate(lines) if line.endswith(head)]
        assert len(found) == 1 and lines[found[0] + 1] == kernel["text"], (head, found)


def check_profile(path, sizes):
    options = [f"--set-size={name}={size}" for name, size in sizes.items()]
    target = explained(path, *options)["targets"][0]
    kernels = {kernel["function"]: kernel for kernel in target["kernels"]}
    for entry in target["entries"]:
        run = json.loads(attn("bench", path, "--weights=random", *options, f"--target={LEVEL}", f"--entry={entry['name']}", "--repeat=1", "--profile",
                              "--json"))
        assert run["sizes"] == sizes, run["sizes"]
        assert {kernel["function"]: kernel["calls"] for kernel in run["kernels"]} == calls_of(entry["steps"])
        for measured in run["kernels"]:
            kernel = kernels[measured["function"]]
            assert "counted_with" not in kernel and kernel["kernel"] == measured["kernel"]
            together = [kernel, *(other for other in target["kernels"] if other.get("counted_with") == measured["function"])]
            assert any(place.endswith(measured["at"]) for own in together for place in own["places"]), (kernel, measured)
            for name in ("flop", "bytes"):
                assert abs(kernel[name] * measured["calls"] - measured[name]) <= 1e-6 * measured[name], (name, kernel, measured)
            assert kernel["flop_counts"] == measured["flop_counts"]
        slots = target["weights"]
        ends = max(slot["offset"] + (slot["layers"] - 1) * slot["layer_stride"] + slot["bytes"] for slot in slots)
        assert 0 <= run["weight_bytes"] - ends < 4096, (run["weight_bytes"], ends)


def check_memory(target):
    for function in target["memory"]:
        for i, a in enumerate(function["buffers"]):
            assert 0 <= a["offset"] and a["offset"] + a["bytes"] <= function["bytes"] and a["from"] < a["until"], a
            for b in function["buffers"][:i]:
                apart = a["until"] <= b["from"] or b["until"] <= a["from"]
                assert apart or a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"], (a, b)
    assert any(function["buffers"] for function in target["memory"])


def check_mask(path):
    open(path, "w").write(MASKED)
    kernel = explained(path, "--set-size=T=431", "--set-size=B=2")["targets"][0]["kernels"][0]
    facts, verdicts = kernel["facts"], kernel["facts"]["verdicts"]
    assert (facts["heads"], facts["queries"], facts["keys"], facts["features"]) == (4, 431, 431, 16), facts
    assert facts["mask"] == "causal and window(70, 0)" and facts["score"] == "scaled_dot" and facts["lowering"] == "online"
    counts, pairs = {"empty": 0, "full": 0, "tested": 0}, 0
    queries, keys = verdicts["query_starts"], verdicts["key_starts"]
    assert queries[-1] == keys[-1] == 431
    for begin, end in zip(queries, queries[1:]):
        for first, last in zip(keys, keys[1:]):
            live = [j <= i and i - j <= 70 for i in range(begin, end) for j in range(first, last)]
            counts["full" if all(live) else "tested" if any(live) else "empty"] += 1
            pairs += (end - begin) * (last - first) * any(live)
    assert pairs == verdicts["pairs"] and counts["full"] == verdicts["full"] and counts["empty"] == verdicts["empty"], (counts, verdicts)
    assert kernel["flop_dense"] == 4 * 2 * 2 * 431 * 431 * 16 and abs(kernel["flop"] - 4 * 2 * 2 * pairs * 16) < 1


def check_times(path):
    """What is called from two places is measured in all its calls together, and counts once."""
    open(path, "w").write(TWICE)
    profile = os.path.join(folder, "twice.json")
    open(profile, "w").write(attn("bench", path, "--weights=random", "--set-size=T=50", f"--target={LEVEL}", "--repeat=1", "--profile", "--json"))
    lines = attn("explain", path, f"--target={LEVEL}", "--run", profile).splitlines()
    shares = [float(line.split("%")[0]) for line in lines if "2 x Layer" in line]
    rest = [float(line.split("%")[0]) for line in lines if "run.return" in line]
    assert len(shares) == 2 and shares[0] == shares[1] and abs(sum(shares + rest) - 100) < 0.3, lines
    kernels = json.load(open(profile))["kernels"]
    share = 100 * sum(kernel["ms"] for kernel in kernels if kernel["function"] == "Layer.a") / sum(kernel["ms"] for kernel in kernels)
    assert abs(sum(shares) - share) < 0.3, (shares, share)


for name, sizes in {"fashion-vit/fashion_vit": {"B": 2}, "pronounce/pronounce_lstm": {"B": 2, "S": 7}, "pronounce/pronounce_transformer": None, "story/story": None}.items():
    path = os.path.join(examples, name + ".attn")
    target = explained(path)["targets"][0]
    check_lines(path, target)
    check_memory(target)
    if sizes:
        check_profile(path, sizes)
check_mask(os.path.join(folder, "masked.attn"))
check_times(os.path.join(folder, "twice.attn"))
