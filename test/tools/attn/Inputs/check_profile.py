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

events = trace["traceEvents"]
assert {event["tid"] for event in events} == {0, 1}
calls = [event for event in events if event["tid"] == 0 and event["name"] != "waiting"]
assert len(calls) == sum(kernel["calls"] for kernel in kernels)
for before, after in zip(calls, calls[1:]):
    assert before["ts"] + before["dur"] <= after["ts"] + 0.001, (before, after)
