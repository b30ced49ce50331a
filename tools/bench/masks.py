#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times attention under masks (masks.attn) beside ONNX Runtime and PyTorch.

Each mask of each length takes turns with the fastest variant of every peer that can express it. How time and memory grow is
what scaling.py says.

Exit codes: 0 measured, 1 wrong input, 2 usage, 3 the outputs disagree, 4 something is missing here.
"""
import contextlib
import datetime
import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import numpy as np

import commandline
import measure
import report
from engines import HERE, PEERS, ROOT, Engine, build_runners, find_onnxruntime, input_word, output_word
from failure import DIFFERENT, Failure

SPEC = os.path.join(ROOT, "tools", "bench", "masks.attn")
HEADS, FEATURES, DOCUMENTS = 12, 64, 8
BOUND = 1e-3  # of the largest output
PEERS_BY_OPTION = {"onnxruntime": "ONNX Runtime", "pytorch": "PyTorch"}


@dataclass
class Mask:
    """An entry of masks.attn, and what peers are asked for: none or causal; documents are a batch."""

    entry: str
    title: str
    peer: str
    batch: int = 1


MASKS = [Mask("full", "none", "none"), Mask("causally", "causal", "causal"), Mask("documents", "eight documents", "none", DOCUMENTS)]


def free_memory():
    """Bytes that a new process may use."""
    with open("/proc/meminfo") as file:
        line = next(line for line in file if line.startswith("MemAvailable:"))
    return 1024 * int(line.split()[1])


class Workbench:
    """One length: its library, its inputs, the engines."""

    def __init__(self, options, length, folder, runners, onnxruntime):
        self.options, self.length, self.folder = options, length, folder
        self.runners, self.onnxruntime = runners, onnxruntime
        os.makedirs(folder)
        self.library = os.path.join(folder, "masks.so")
        words = [options.product, "compile", SPEC, f"--set=T={length}", "--emit=shared", "-o", self.library]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise Failure(done.returncode, done.stderr.strip())
        rows = np.random.default_rng(14).standard_normal((3, length, HEADS, FEATURES), np.float32)
        self.rows = self.keep(rows, "rows")
        self.heads = {m.batch: self.keep(self.by_head(rows, m.batch), f"heads{m.batch}") for m in MASKS}

    def by_head(self, rows, batch):
        """[..., length, heads, features] as [..., batch, heads, length / batch, features]."""
        split = rows.reshape(*rows.shape[:-3], batch, self.length // batch, HEADS, FEATURES)
        return np.ascontiguousarray(np.swapaxes(split, -3, -2))

    def keep(self, values, name):
        path = os.path.join(self.folder, name + ".bin")
        values.tofile(path)
        return path

    @staticmethod
    def tensors(path, shape):
        """The words of query, key and value, one after the other in a file, and of the output."""
        parts = enumerate(("query", "key", "value"))
        return [input_word(name, "f32", shape, path, 4 * n * math.prod(shape)) for n, name in parts] + [
            output_word("logits", shape)]

    def attn(self, mask, by_head=False):
        """Position by position as projections leave their rows, or head by head."""
        entry, path, shape = mask.entry, self.rows, (self.length, HEADS, FEATURES)
        if by_head:
            entry, path, shape = mask.entry + "_by_head", self.heads[1], (HEADS, self.length, FEATURES)
        return Engine("attn", [self.runners["run_attn"], self.library, "attn_model_masks", "-", str(self.options.threads),
                               entry, *self.tensors(path, shape)])

    def peers(self, mask):
        """Of each variant that can express the mask: its name, its command line, whether its output is by head, and how
        many times it holds all scores."""
        threads, causal = str(self.options.threads), mask.peer == "causal"
        shape = [mask.batch, HEADS, self.length // mask.batch, FEATURES]
        if self.onnxruntime:
            import onnx_attention

            for variant in onnx_attention.VARIANTS:
                if causal and variant == "plain":
                    continue
                path = os.path.join(self.folder, f"{variant}-{mask.entry}.onnx")
                onnx_attention.write(path, variant, causal, shape)
                whole = variant == "mha"
                tensors = self.tensors(self.rows, [shape[0], shape[2], HEADS * FEATURES]) if whole else \
                    self.tensors(self.heads[mask.batch], shape)
                words = [self.runners["run_ort"], self.onnxruntime, path, threads, *tensors]
                yield "ONNX Runtime, " + variant, words, not whole, {"mha": causal, "standard": 1, "plain": 2}[variant]
        for variant in ("fused", "products") if "pytorch" in self.options.peers else ():
            words = [sys.executable, os.path.join(HERE, "run_torch.py"), variant, mask.peer, threads,
                     self.heads[mask.batch], ",".join(map(str, shape))]
            yield "PyTorch, " + variant, words, True, 2

    def fastest(self, mask, ours):
        """The command line of the fastest variant of each peer, by its name, after its output has been compared; none
        where the scores do not fit into memory."""
        best = {}
        for name, words, by_head, copies in self.peers(mask):
            if copies * 4 * HEADS * self.length**2 // mask.batch > 0.9 * free_memory():
                continue
            try:
                engine = Engine(name, words)
                with engine:
                    time = min(engine.run(1, 2))
                    shape = (mask.batch, HEADS, self.length // mask.batch, FEATURES) if by_head else ours.shape
                    expected = self.by_head(ours, mask.batch) if by_head else ours
                    difference = np.abs(engine.output(shape) - expected).max() / np.abs(ours).max()
            except Failure as failure:
                print(f"left out: {failure}", file=sys.stderr)
                continue
            if difference > BOUND:
                raise Failure(DIFFERENT, f"{name}, {mask.title}, {self.length}: outputs differ by {difference:.1e}")
            peer = name.split(",")[0]
            if peer not in best or time < best[peer][0]:
                best[peer] = (time, name, words)
        return {name: words for _, name, words in best.values()}

    def beside_peers(self, mask):
        """Milliseconds of each turn of attn and the peers, by name."""
        with contextlib.ExitStack() as stack:
            candidates = [stack.enter_context(self.attn(mask, by_head)) for by_head in (False, True)]
            firsts = [min(engine.run(1, 3)) for engine in candidates]
            rows = candidates[0].output((self.length, HEADS, FEATURES))
            heads = candidates[1].output((HEADS, self.length, FEATURES))
            if np.abs(np.swapaxes(heads, 0, 1) - rows).max() > BOUND * np.abs(rows).max():
                raise Failure(DIFFERENT, f"attn, {mask.title}, {self.length}: outputs by head differ")
            ours = candidates[int(np.argmin(firsts))]
            peers = self.fastest(mask, rows)
            engines = [ours] + [stack.enter_context(Engine(name, words)) for name, words in peers.items()]
            times = measure.interleave(engines, self.options.rounds)
        return {engine.name: found for engine, found in zip(engines, times)}


class Report:
    """Lines for people, as they come, and records for programs."""

    def __init__(self, *lines):
        self.lines, self.records = [], []
        for line in lines:
            self.say(line)

    def say(self, line):
        self.lines.append(line)
        print(line, flush=True)

    def write(self, date):
        base = commandline.results("masks", date)
        report.keep(base + ".md", "\n".join(self.lines) + "\n")
        report.keep(base + ".json", json.dumps(self.records, indent=1) + "\n")


def peer_cell(times, peer):
    """Least milliseconds, variant, and attn's time over theirs: of the least times and of the medians."""
    name = next((name for name in times if name.startswith(peer)), None)
    if not name:
        return "-"
    ours, theirs = measure.summarize(times["attn"]), measure.summarize(times[name])
    return (f"{theirs.minimum:.1f} ({name.split(', ')[1]}), {ours.minimum / theirs.minimum:.2f} / "
            f"{ours.median / theirs.median:.2f}")


def report_peers(benches, out):
    """The table."""
    out.say("\n| length | mask | attn, least ms | " + " | ".join(PEERS_BY_OPTION.values()) + " |")
    out.say("| ---: | --- | ---: |" + " ---: |" * len(PEERS_BY_OPTION))
    for bench in benches:
        for mask in MASKS:
            times = bench.beside_peers(mask)
            out.say(f"| {bench.length} | {mask.title} | {min(times['attn']):.1f} | "
                    + " | ".join(peer_cell(times, peer) for peer in PEERS_BY_OPTION.values()) + " |")
            out.records.append({"length": bench.length, "mask": mask.entry, "beside": times})


def main():
    parser = commandline.parser(__doc__, rounds=5)
    parser.add_argument("--lengths", type=commandline.numbers, default=[1024, 2048, 4096, 8192, 16384], metavar="N,N",
                        help="default: 1024 to 16384")
    parser.add_argument("--threads", type=commandline.positive, default=2, metavar="N", help="default: 2")
    parser.add_argument("--peers", nargs="*", choices=PEERS_BY_OPTION, default=list(PEERS_BY_OPTION),
                        help="whom to measure beside; default: both")
    options = parser.parse_args()
    commandline.check_product(options)
    runners = build_runners(os.path.join(PEERS, "bin"))
    onnxruntime, missing = find_onnxruntime() if "onnxruntime" in options.peers else (None, None)
    date = datetime.date.today().isoformat()
    out = Report(
        "# Attention under masks", "",
        f"{report.cpu_name()}, {options.threads} threads, {date}. {HEADS} heads of {FEATURES} features, f32, "
        f"{options.rounds} turns. Peers: their fastest variant and attn's time over theirs, of the least times and of the medians, all position by position or "
        "head by head, whichever is faster; documents are a batch of eight for them; - where all scores do not fit into memory.")
    if missing:
        out.say(f"\nWithout ONNX Runtime: {missing}.")
    with tempfile.TemporaryDirectory() as folder:
        benches = [Workbench(options, length, os.path.join(folder, str(length)), runners, onnxruntime)
                   for length in options.lengths]
        report_peers(benches, out)
    if options.write:
        out.write(date)


if __name__ == "__main__":
    commandline.run(main)
