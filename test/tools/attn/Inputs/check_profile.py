# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds a profile of three images, the totals of one image and a trace against each other."""
import json
import sys

profile, one, trace = (json.load(open(path)) for path in sys.argv[1:])
kernels = profile["kernels"]
total = sum(kernel["ms"] for kernel in kernels)
assert 0.5 * profile["profiled_ms"] < total <= profile["profiled_ms"], (total, profile["profiled_ms"])
assert profile["profiled_ms"] <= profile["median_ms"], profile
for kernel in kernels:
    assert 0 <= kernel["waiting"] <= 1, kernel
for what in ("flop", "bytes"):
    assert sum(kernel[what] for kernel in kernels) == profile[what]
assert profile["flop"] == 3 * one["flop"]
assert one["bytes"] < profile["bytes"] < 3 * one["bytes"]  # weights are read once
assert "kernels" not in one and one["peak_flop_per_s"] > 1e9 and one["peak_bytes_per_s"] > 1e8

# 96 -> 3 * 96 on 50 rows an image; the last layer, of which only a row is wanted, has code of its own.
(qkv,) = [kernel for kernel in kernels if (kernel["function"], kernel["kernel"]) == ("Block.attn.q.2", "linear 96 -> 288")]
assert qkv["calls"] == 3 and qkv["flop"] == 3 * 3 * 50 * 288 * 2 * 96, qkv

slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
calls = [event for event in slices if event["tid"] == 0 and event["cat"] == "kernel"]
assert len(calls) == sum(kernel["calls"] for kernel in kernels)
assert {event["name"] for event in calls} == {kernel["function"] for kernel in kernels}

# Readers add times and lengths as doubles: by that arithmetic, slices nest or do not touch.
for thread in (0, 1):
    stack = []
    for event in (event for event in slices if event["tid"] == thread):
        begin, end = event["ts"], event["ts"] + event["dur"]
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= begin:
            stack.pop()
        assert not stack or (stack[-1]["ts"] <= begin and end <= stack[-1]["ts"] + stack[-1]["dur"]), (event, stack)
        depth = [above["cat"] for above in stack]
        assert depth == {"entry": [], "layer": ["entry"]}.get(event["cat"], depth) and "kernel" not in depth, (event, depth)
        if event["name"].startswith("classify."):
            assert depth == ["entry"] and "layer" not in event["args"], (event, stack)
        if event["cat"] == "kernel" and event["name"].startswith("Block."):
            assert depth == ["entry", "layer"] and stack[-1]["args"]["layer"] == event["args"].get("layer", 0), (event, stack)
        stack.append(event)
assert [event["name"] for event in slices if event["tid"] == 1 and event["cat"] == "layer"][:2] == ["Block 0", "Block 1"], slices

meta = {(event["name"], event["tid"]): event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"}
assert meta[("process_name", 0)].startswith("FashionViT.classify on ") and meta[("thread_name", 1)] == "thread 1", meta
(entry,) = [event for event in slices if event["tid"] == 0 and event["cat"] == "entry"]
assert entry["name"] == "classify" and entry["args"]["sizes"] == {"B": 3} and entry["args"]["target"], entry
counters = [event for event in trace["traceEvents"] if event["ph"] == "C"]
assert counters and all(event["name"] == "workspace" and event["args"]["bytes"] > 0 for event in counters), counters
