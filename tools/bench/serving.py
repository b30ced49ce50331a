#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times servers of embeddings under load: a program with a server, with and without batches, and ONNX Runtime under a server on Node that makes batches in the same way.

All of them answer /v1/embeddings, for the tokens of texts of 5 to 60 words, through a sentence encoder of MiniLM's shape with random weights. Their vectors are held against each other. wrk sends requests over a number of connections, each of which waits for its answer, from a thread that takes a part of the same CPUs.

Exit codes: 0 measured, 1 wrong input, 2 usage, 3 vectors differ, 4 something is missing here.
"""
import base64
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request

import numpy as np

import commandline
import levels
import report
from engines import PEERS, find_onnxruntime
from failure import DIFFERENT, ENVIRONMENT, Failure
from lines import BENCH, Sides, run, write_graph

LOAD = """
local bodies, at = {}, 0
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
request = function()
  at = at % #bodies + 1
  return wrk.format("POST", "/v1/embeddings", {["Content-Type"] = "application/json"}, bodies[at])
end
done = function(summary, latency)
  local errors = summary.errors
  print(string.format('{"requests": %d, "seconds": %f, "failed": %d, "p50": %f, "p99": %f}', summary.requests, summary.duration / 1e6,
                      errors.connect + errors.read + errors.write + errors.status + errors.timeout, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
"""


class Server:
    """A process that says its port, until it is closed."""

    def __init__(self, words, isOwn):
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE if isOwn else None, text=True)
        line = (self.process.stderr if isOwn else self.process.stdout).readline()
        digits = [word.strip(":") for word in line.split() if word.strip(":").isdigit()]
        if not digits:
            raise Failure(ENVIRONMENT, f"{words[0]} does not serve: {line}")
        self.port = int(digits[0])
        # Its log would fill a pipe.
        self.drain = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL) if isOwn else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def vectors(self, bodies):
        rows = []
        for body in bodies:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v1/embeddings", body.encode()) as answer:
                rows.append(np.frombuffer(base64.b64decode(json.load(answer)["data"][0]["embedding"]), "<f4"))
        return np.array(rows)

    def load(self, connections, seconds, folder):
        said = run("wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", os.path.join(folder, "load.lua"), f"http://127.0.0.1:{self.port}",
                   env={**os.environ, "BODIES": os.path.join(folder, "bodies.txt")})
        return json.loads(said.strip().splitlines()[-1])


def make_sides(sides, options, hasPeer):
    """Commands that serve, by name."""
    program, cpus = sides.path("program"), len(os.sched_getaffinity(0))
    own = [program, "--serve", "127.0.0.1:0"]
    commands = {"attn": own, "attn, `--batch 1`": [*own, "--batch", "1"]}
    if hasPeer:
        package = os.path.join(PEERS, "node_modules", "onnxruntime-node")
        for variant in ("mha-packed", "attention"):
            os.makedirs(sides.path(variant), exist_ok=True)
            model = sides.path(f"{variant}/{variant}.onnx")
            write_graph(sides.path(variant), sides.weights, variant)
            for runs, threads in ((cpus, 1), (1, cpus)):
                commands[f"ONNX Runtime, {variant}, {runs} x {threads}"] = ["node", os.path.join(BENCH, "serve_ort.mjs"), package, model, str(runs), str(threads),
                                                                            str(options.tokens)]
    return commands


def main():
    options = commandline.parser(__doc__, 3)
    options.add_argument("--lines", type=commandline.positive, default=500, help="texts (default: 500)")
    options.add_argument("--seconds", type=commandline.positive, default=5, help="of a turn (default: 5)")
    options.add_argument("--connections", type=commandline.numbers, default=[1, 16, 64], metavar="N,...")
    options.add_argument("--tokens", type=commandline.positive, default=256, help="of a batch of ONNX Runtime's, at most (default: 256)")
    options.add_argument("--levels", default="native,x86-64-v3", help="default: native,x86-64-v3")
    options = options.parse_args()
    commandline.check_product(options)
    if not shutil.which("wrk"):
        raise Failure(ENVIRONMENT, "`wrk` is missing: it is a package of Debian")
    why = find_onnxruntime()[1]
    if why:
        print(f"without ONNX Runtime: {why}", file=sys.stderr)
    date = datetime.date.today().isoformat()
    rows = ["| level | connections | | requests/s, best | median | p50, ms | p99, ms | of attn, best | median |", "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    with tempfile.TemporaryDirectory() as folder:
        sides = Sides(options, folder)
        bodies = [json.dumps({"input": tokens, "encoding_format": "base64"}) for tokens in sides.tokens]
        with open(sides.path("bodies.txt"), "w") as file:
            file.write("\n".join(bodies) + "\n")
        with open(sides.path("load.lua"), "w") as file:
            file.write(LOAD)
        for level in options.levels.split(","):
            levels.hold(None if level == "native" else level)
            run(options.product, "compile", sides.path("model.attn"), "--weights", folder, "--embed-weights", "--with-server", "-o", sides.path("program"),
                *levels.target_words())
            commands = make_sides(sides, options, not why and level == "native")
            wanted, turns = None, {}
            for name, words in commands.items():
                with Server(words, name.startswith("attn")) as server:
                    got = server.vectors(bodies[:20])
                    wanted = got if wanted is None else wanted
                    if np.abs(got - wanted).max() > 1e-3 * np.abs(wanted).max():
                        raise Failure(DIFFERENT, f"the vectors of {name} differ by {np.abs(got - wanted).max():.1e}")
            for connections in options.connections:
                for turn in range(options.rounds):
                    names = list(commands)[turn % len(commands):] + list(commands)[:turn % len(commands)]
                    for name in names:
                        with Server(commands[name], name.startswith("attn")) as server:
                            server.load(connections, 1, folder)
                            turns.setdefault((connections, name), []).append(server.load(connections, options.seconds, folder))
                # Of ONNX Runtime the fastest form.
                rate = lambda name: max(one["requests"] / one["seconds"] for one in turns[connections, name])
                peers = [name for name in commands if name.startswith("ONNX")]
                shown = [name for name in commands if name not in peers] + ([max(peers, key=rate)] if peers else [])
                base = [one["requests"] / one["seconds"] for one in turns[connections, "attn"]]
                for name in shown:
                    all_turns = turns[connections, name]
                    if any(one["failed"] for one in all_turns):
                        raise Failure(DIFFERENT, f"{name} has refused requests")
                    rates = [one["requests"] / one["seconds"] for one in all_turns]
                    cells = [f"{max(rates):.0f}", f"{statistics.median(rates):.0f}", *(f"{min(one[key] for one in all_turns):.1f}" for key in ("p50", "p99")),
                             f"{max(rates) / max(base):.2f}", f"{statistics.median(rates) / statistics.median(base):.2f}"]
                    rows.append(f"| {level} | {connections} | {name} | {' | '.join(cells)} |")
                    print(rows[-1], flush=True)
    lines = ["# Embeddings over HTTP", "",
             f"{report.cpu_name()}, {date}, {options.rounds} turns of {options.seconds} s of each: /v1/embeddings for the tokens of texts of 5 to 60 words, through a sentence encoder "
             "of MiniLM's shape in f32 with random weights; wrk keeps a number of connections busy from the same CPUs. ONNX Runtime runs under a server on Node that makes batches in the same way "
             f"(of up to {options.tokens} tokens), in the fastest of its forms (runs at a time x threads of each). Latencies are the best turn's.", "", *rows]
    if options.write:
        report.keep(commandline.results("serving", date) + ".md", "\n".join(lines) + "\n")


if __name__ == "__main__":
    commandline.run(main)
