# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the JSON of `attn verify` has the lines of its text, in order. Usage: check_report.py JSON TEXT"""
import json
import re
import sys

report = json.load(open(sys.argv[1]))
lines = [line for line in open(sys.argv[2]).read().split("\n") if "relative L2" in line][1:]
assert report["schema"] == "attn.verify" and report["schema_version"] == 1 and report["weights"] == "random" and report["first_past_bound"] == ""
assert len(lines) == len(report["results"]) > 10
for line, row in zip(lines, report["results"]):
    shown = re.match(r"(.*?)\s{2,}(\S+)\s+\[([\d, ]*)\]\s+max abs (\S+), relative L2 ([^ ]+)", line)
    assert shown[1] == row["call"] and shown[2] == row["output"], (line, row)
    assert shown[3] == ", ".join(map(str, row["shape"])) and not row["past_bound"], (line, row)
    assert shown[4] == f"{row['max_abs']:.2e}" and shown[5] == f"{row['relative_l2']:.2e}" and row["relative_l2"] <= report["bound"], (line, row)
    assert row["entry"] == row["call"].split()[0] and row["least"] < row["greatest"], row
    # What computes an intermediate: the outputs of the entry itself have no place.
    assert bool(re.search(r"fashion_vit.attn:\d+:\d+$", row["at"])) == (row["output"] != row["entry"]), row
