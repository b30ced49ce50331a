#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times attention under masks against its length: masks.attn with full, causal, window and document masks, in turns with
ONNX Runtime's, and PyTorch's, attention where these can express them.

Exit codes: 0 measured, 1 wrong input, 2 usage, 3 the outputs disagree, 4 something is missing here.
"""
import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import numpy as np

import measure
import report
from engines import HERE, PEERS, ROOT, Engine, build_runners, find_onnxruntime
from failure import DIFFERENT, ENVIRONMENT, Failure

SPEC = os.path.join(ROOT, "tools", "bench", "masks.attn")
HEADS, FEATURES, DOCUMENTS = 12, 64, 8
BOUND = 1e-3  # of the largest output
MOST_SCORES = 1 << 30  # that a peer may hold at once: 4 GB


@dataclass
class Mask:
    """An entry of masks.attn, and what peers are asked for: none, causal, or nothing; documents are a batch."""

    entry: str
    title: str
    peer: str = None
    batch: int = 1


MASKS = [Mask("full", "none", "none"), Mask("causally", "causal", "causal"),
         Mask("windows", "window of 256, causal"), Mask("documents", "eight documents", "none", DOCUMENTS)]


class Workbench:
    """One length: its library, its inputs, the engines."""

    def __init__(self, options, length, folder, runners, onnxruntime):
        self.options, self.length, self.folder = options, length, folder
        self.runners, self.onnxruntime = runners, onnxruntime
        self.library = os.path.join(folder, "masks.so")
        words = [options.product, "compile", SPEC, f"--set=T={length}", "--emit=shared", "-o", self.library]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise Failure(done.returncode, done.stderr.strip())
        rows = np.random.default_rng(14).standard_normal((3, length, HEADS, FEATURES), np.float32)
        self.rows = self.keep(rows, "rows")
        self.heads = {m.batch: self.keep(self.by_head(rows, m.batch), f"heads{m.batch}") for m in MASKS if m.peer}

    def by_head(self, rows, batch):
        """[..., length, heads, features] as [..., batch, heads, length / batch, features]."""
        split = rows.reshape(*rows.shape[:-3], batch, self.length // batch, HEADS, FEATURES)
        return np.ascontiguousarray(np.swapaxes(split, -3, -2))

    def keep(self, values, name):
        path = os.path.join(self.folder, name + ".bin")
        values.tofile(path)
        return path

    def attn(self, mask):
        sizes = f"{self.length},{HEADS},{FEATURES}"
        return Engine("attn", [self.runners["run_attn"], self.library, "attn_model_masks", "-", str(self.options.threads),
                               self.rows, sizes, sizes, str([m.entry for m in MASKS].index(mask.entry)), "3"])

    def peers(self, mask):
        """Starters of the variants that can express the mask, by name: engine and whether its output is by head."""
        if not mask.peer or HEADS * self.length**2 // mask.batch > MOST_SCORES:
            return {}
        starters, causal = {}, mask.peer == "causal"
        shape = [mask.batch, HEADS, self.length // mask.batch, FEATURES]
        if self.onnxruntime:
            import onnx_attention

            for variant in onnx_attention.VARIANTS:
                if causal and variant == "plain":
                    continue
                path = os.path.join(self.folder, f"{variant}-{mask.entry}.onnx")
                onnx_attention.write(path, variant, causal, shape)
                whole = variant == "mha"
                sizes = ",".join(map(str, [shape[0], shape[2], HEADS * FEATURES] if whole else shape))
                words = [self.runners["run_ort"], self.onnxruntime, path, str(self.options.threads),
                         self.rows if whole else self.heads[mask.batch], sizes, sizes, "3"]
                starters["ONNX Runtime, " + variant] = (words, not whole)
        for variant in ("fused", "products") if self.options.pytorch else ():
            words = [sys.executable, os.path.join(HERE, "run_torch.py"), variant, mask.peer, str(self.options.threads),
                     self.heads[mask.batch], ",".join(map(str, shape))]
            starters["PyTorch, " + variant] = (words, True)
        return starters

    def fastest(self, mask, ours):
        """The fastest variant of each peer, after its output has been compared."""
        best = {}
        for name, (words, by_head) in self.peers(mask).items():
            try:
                engine = Engine(name, words)
                time = min(engine.run(1, 2))
            except Failure as failure:
                print(f"left out: {failure}", file=sys.stderr)
                continue
            with engine:
                shape = (mask.batch, HEADS, self.length // mask.batch, FEATURES) if by_head else ours.shape
                expected = self.by_head(ours, mask.batch) if by_head else ours
                difference = np.abs(engine.output(shape) - expected).max() / np.abs(ours).max()
            if difference > BOUND:
                raise Failure(DIFFERENT, f"{name}, {mask.title}, {self.length}: outputs differ by {difference:.1e}")
            peer = name.split(",")[0]
            if peer not in best or time < best[peer][0]:
                best[peer] = (time, name, words)
        return {peer: (name, words) for peer, (_, name, words) in best.items()}

    def measure(self):
        """Of each mask, the least milliseconds of attn and of its peers by name, and attn's peak memory. All take turns."""
        engines, owners = [], []

        def add(mask, engine):
            engines.append(engine)
            owners.append(mask.entry)
            return engine

        try:
            for mask in MASKS:
                ours = add(mask, self.attn(mask))
                ours.run(0, 1)
                peers = self.fastest(mask, ours.output((self.length, HEADS, FEATURES)))
                for name, words in peers.values():
                    add(mask, Engine(name, words))
            times = measure.interleave(engines, self.options.rounds)
            least = {mask.entry: {} for mask in MASKS}
            for owner, engine, found in zip(owners, engines, times):
                least[owner][engine.name] = min(found)
            memory = {owner: engine.peak_memory() for owner, engine in zip(owners, engines) if engine.name == "attn"}
            return least, memory
        finally:
            for engine in engines:
                engine.close()


def cell(least, peer):
    found = next((name for name in least if name.startswith(peer)), None)
    return f"{least[found]:.1f} ({found.split(', ')[1]}), {least['attn'] / least[found]:.2f}" if found else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lengths", default="1024,2048,4096,8192,16384", help="default: 1024 to 16384")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5, help="turns of each; default: 5")
    parser.add_argument("--product", default=os.path.join(ROOT, "build", "bin", "attn"), help="the compiler")
    parser.add_argument("--no-peers", action="store_true", help="attn alone")
    parser.add_argument("--pytorch", action="store_true", help="PyTorch, too; without a fast BLAS it takes seconds a run")
    parser.add_argument("--write", action="store_true", help="keep the table under results/")
    options = parser.parse_args()
    if not os.access(options.product, os.X_OK):
        raise Failure(ENVIRONMENT, f"`{options.product}` is not here: build it with tools/build.sh")
    runners = build_runners(os.path.join(PEERS, "bin"))
    onnxruntime, missing = (None, None) if options.no_peers else find_onnxruntime()
    date = datetime.date.today().isoformat()
    lines = [
        "# Attention under masks",
        "",
        f"{report.cpu_name()}, {options.threads} threads, {date}. {HEADS} heads of {FEATURES} features, f32, milliseconds: "
        f"the least of {options.rounds} turns. Peers: their fastest variant, and attn's time over theirs; documents are a "
        "batch of eight for them. Memory: the peak of a C program with inputs, output and the library.",
        "",
        "| length | mask | attn | of no mask | of half the length | peak MB | ONNX Runtime | PyTorch |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    if missing:
        lines.insert(3, f"Without ONNX Runtime: {missing}.")
    print("\n".join(lines), flush=True)
    before, records = {}, []
    for length in (int(word) for word in options.lengths.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            bench = Workbench(options, length, folder, runners, onnxruntime)
            if options.no_peers:
                bench.peers = lambda mask: {}
            found, peaks = bench.measure()
            whole = found["full"]["attn"]
            for mask in MASKS:
                least, memory = found[mask.entry], peaks[mask.entry]
                time = least["attn"]
                half = before.get((mask.entry, length // 2))
                before[mask.entry, length] = time
                records.append({"length": length, "mask": mask.entry, "ms": least, "peak_bytes": memory})
                lines.append(f"| {length} | {mask.title} | {time:.1f} | {time / whole:.2f} | "
                             f"{f'{time / half:.2f}' if half else '-'} | {memory / 1e6:.0f} | "
                             f"{cell(least, 'ONNX Runtime')} | {cell(least, 'PyTorch')} |")
                print(lines[-1], flush=True)
    if options.write:
        base = os.path.join(ROOT, "tools", "bench", "results", "masks-" + report.file_name(report.cpu_name(), date))
        report.keep(base + ".md", "\n".join(lines) + "\n")
        report.keep(base + ".json", json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        print(f"masks.py: error: {failure}", file=sys.stderr)
        sys.exit(failure.code)
