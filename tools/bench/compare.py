#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares compiled transformers with ONNX Runtime on this machine's CPU.

    compare.py                                     published models, three shapes that nobody published, torch.nn's layers
    compare.py --spec examples/vit/vit_b16.attn --threads 2
    compare.py --spec vit.attn --set D=720 --set H=15 --spec vit.attn --set Y=10 --set X=10
    compare.py --spec examples/language/bert_base.attn --size T=128

Each spec is compiled, the same architecture is written as ONNX in several variants, and both get the same random
weights and inputs. First their outputs have to agree; then they run in turns. See the README beside this file.

Exit codes: 0 measured, 1 wrong input, 2 usage, 3 the outputs disagree, 4 something is missing here.
"""
import argparse
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

import numpy as np

import commandline
import levels
import measure
import models
import report
from engines import HERE, PEERS, ROOT, Engine, build_runners, find_onnxruntime, input_word, output_word
from failure import BAD_INPUT, DIFFERENT, ENVIRONMENT, USAGE, Failure

SEED = 14
BOUND = 1e-3  # of the largest logit's magnitude
EXAMPLES, LANGUAGE = (os.path.join(ROOT, "examples", name) for name in ("vit", "language"))


@dataclass
class Case:
    """A spec, the dims that are set in it, and the sizes of dynamic ones that it is run with."""

    spec: str
    dims: list = field(default_factory=list)
    sizes: dict = field(default_factory=dict)


DEFAULT_CASES = [
    Case(os.path.join(EXAMPLES, "vit_b16.attn")),
    Case(os.path.join(EXAMPLES, "deit_s16.attn")),
    Case(os.path.join(EXAMPLES, "vit_ti16.attn")),
    # No published model: head dims 48, 80 and 60; 101, 577 and 197 tokens; widths that end within a vector.
    Case(os.path.join(EXAMPLES, "vit_ti16.attn"), ["D=720", "H=15", "F=2880", "Y=10", "X=10"]),
    Case(os.path.join(EXAMPLES, "vit_ti16.attn"), ["D=560", "H=7", "F=2240", "Y=24", "X=24"]),
    Case(os.path.join(EXAMPLES, "vit_ti16.attn"), ["D=420", "H=7", "F=1500"]),
    Case(os.path.join(LANGUAGE, "bert_base.attn"), sizes={"T": 128}),
    Case(os.path.join(LANGUAGE, "bert_base.attn"), sizes={"T": 512}),
    Case(os.path.join(LANGUAGE, "gpt2.attn"), sizes={"T": 512}),
    Case(os.path.join(HERE, "whisper_encoder.attn")),
    Case(os.path.join(EXAMPLES, "swin_t.attn")),
    Case(os.path.join(HERE, "torch_encoder.attn")),
    Case(os.path.join(HERE, "torch_decoder.attn")),
    Case(os.path.join(EXAMPLES, "detr_r50.attn")),
    Case(os.path.join(HERE, "detr_transformer.attn")),
]
QUICK_CASES = [Case(os.path.join(EXAMPLES, "vit_ti16.attn"))]


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---- command line


class AddCase(argparse.Action):
    def __call__(self, parser, options, value, _=None):
        options.cases = (options.cases or []) + [Case(value)]


class AddDim(argparse.Action):
    def __call__(self, parser, options, value, option=None):
        name, _, size = value.partition("=")
        if not options.cases:
            parser.error(f"{option} belongs to the --spec before it")
        if not name.isidentifier() or not size.isdigit() or int(size) < 1:
            parser.error(f"{option} {value}: expected DIM=N")
        if option == "--set":
            options.cases[-1].dims.append(value)
        else:
            options.cases[-1].sizes[name] = int(size)


def parse_options(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spec", action=AddCase, dest="cases", metavar="FILE", help="a spec; may be repeated")
    parser.add_argument("--set", action=AddDim, metavar="DIM=N", help="sets a dim of the spec before it")
    parser.add_argument("--size", action=AddDim, metavar="DIM=N",
                        help="runs the spec before it with this size of a dynamic dim; default: its bound")
    parser.add_argument("--threads", type=commandline.numbers, default=[1, 2], metavar="N,N", help="default: 1,2")
    parser.add_argument("--rounds", type=commandline.positive, metavar="N", help="turns of each; default: 25")
    parser.add_argument("--quick", action="store_true", help="ViT-Ti/16 alone and 3 rounds: does everything work?")
    parser.add_argument("--product", default=os.path.join(ROOT, "build", "bin", "attn"), metavar="PATH",
                        help="the compiler; default: build/bin/attn")
    parser.add_argument("--write", nargs="?", const=os.path.join(ROOT, "tools", "bench", "results"), metavar="FOLDER",
                        help="keep the table, as Markdown and JSON; default: tools/bench/results")
    options = parser.parse_args(words, argparse.Namespace(cases=None))
    options.rounds = options.rounds or (3 if options.quick else 25)
    options.cases = options.cases or (QUICK_CASES if options.quick else DEFAULT_CASES)
    return options


# ---- the product


def compile_spec(product, case, folder):
    """The shared library of a case, its description, and what compiling took: seconds and bytes."""
    library = os.path.join(folder, "model.so")
    words = [product, "compile", case.spec, "--emit=shared", "-o", library, *levels.target_words()]
    words += [word for dim in case.dims for word in ("--set", dim)]
    begin = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    cost = {"compile_s": time.monotonic() - begin, "compile_peak_bytes": 1024 * usage.ru_maxrss}
    if process.returncode:
        code = BAD_INPUT if process.returncode == 1 else ENVIRONMENT
        raise Failure(code, f"`{' '.join(words)}` ended with {process.returncode}:\n{errors.strip()}")
    text = subprocess.run([product, "inspect", library, "--json"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return library, json.loads(text), cost


# ---- ONNX Runtime


@dataclass
class Peer:
    """ONNX Runtime's library; None, and why, where there is none."""

    library: str
    missing: str
    version: str = None


def find_peer():
    library, missing = find_onnxruntime()
    if library:
        try:
            import onnx  # noqa: F401
        except ImportError:
            return Peer(None, "Debian's python3-onnx, which would write its models, is not installed")
    return Peer(library, missing)


def check_outputs(ours, theirs, what):
    """The largest difference, as a share of the largest magnitude; ends with 3 where it is above the bound."""
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        raise Failure(DIFFERENT, f"{what}: the outputs are not finite")
    difference = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if difference > BOUND:
        raise Failure(DIFFERENT, f"{what}: the outputs differ by {difference:.2g} of the largest logit, expected at "
                      f"most {BOUND:g}")
    return difference


class Workbench:
    """One case at work: its files, and how its engines are started."""

    def __init__(self, case, options, runners, peer):
        self.case, self.runners, self.peer = case, runners, peer
        os.makedirs(PEERS, exist_ok=True)
        self.folder = tempfile.mkdtemp(prefix="work-", dir=PEERS)
        try:
            self.prepare(options)
        except BaseException:
            self.close()
            raise

    def prepare(self, options):
        """Compiles the spec and writes the files of both sides."""
        self.library, self.description, self.cost = compile_spec(options.product, self.case, self.folder)
        self.model = models.read_description(self.description, self.case.sizes)
        self.weights = models.random_weights(self.description, SEED)
        self.weight_bytes = sum(values.nbytes for values in self.weights.values())
        self.checkpoint = os.path.join(self.folder, "weights.safetensors")
        models.write_safetensors(self.checkpoint, self.weights)
        self.tensors = []  # words of runners
        for (name, dtype, shape), values in zip(self.model.input_types(),
                                                self.model.make_inputs(np.random.default_rng(SEED + 1))):
            path = os.path.join(self.folder, name + ".bin")
            values.tofile(path)
            self.tensors.append(input_word(name, dtype, shape, path))
        self.tensors += [output_word(name, shape) for name, shape in self.model.outputs()]
        self.onnx = self.write_onnx() if self.peer.library else {}

    def write_onnx(self):
        """The paths of all variants."""
        from onnx_graph import VARIANTS, Store

        store = Store(self.folder, self.weights)
        return {variant: self.model.write_onnx(store, variant) for variant in VARIANTS}

    def start_attn(self, threads):
        return Engine("attn", [self.runners["run_attn"], self.library, self.model.symbol, self.checkpoint, str(threads),
                               self.model.entry, *self.tensors])

    def start_peer(self, variant, threads):
        engine = Engine(f"ONNX Runtime, variant {variant}",
                        [self.runners["run_ort"], self.peer.library, self.onnx[variant], str(threads), *self.tensors])
        self.peer.version = engine.facts["version"]
        return engine

    def first_pass(self, ours, threads):
        """The two fastest variants after a few runs, and the largest difference of any variant's output."""
        fastest, largest = {}, 0.0
        for variant in self.onnx:
            try:
                engine = self.start_peer(variant, threads)
            except Failure as failure:
                say(f"  left out: {failure}")
                continue
            with engine:
                fastest[variant] = min(engine.run(2, 1) + engine.run(0, 5))
                difference = check_outputs(ours, engine.output(self.model.outputs()[0][1]), f"{self.model.name}, {variant}")
                largest = max(largest, difference)
            say(f"  ONNX Runtime, {variant}: {fastest[variant]:.2f} ms")
        return sorted(fastest, key=fastest.get)[:2], largest

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- one row of the table


def entry(times, flop, peak, **more):
    summary = measure.summarize(times)
    rate = flop / summary.minimum / 1e6
    return {"min_ms": summary.minimum, "median_ms": summary.median, "p90_ms": summary.p90, "runs": summary.runs,
            "gflops": rate, "fraction_of_peak": rate / peak, **more}


def compare(bench, threads, rounds):
    """Times a case on a number of threads."""
    model, engines = bench.model, []
    try:
        attn = bench.start_attn(threads)
        engines.append(attn)
        attn.run(0, 1)
        after_first = attn.peak_memory()
        variants, difference = bench.first_pass(attn.output(model.outputs()[0][1]), threads)
        engines += [bench.start_peer(variant, threads) for variant in variants]
        engines.append(Engine("peak", [bench.runners["run_peak"], str(threads)]))
        load = measure.OtherLoad(engines)
        times = measure.interleave(engines, rounds)
        other_load = load.share()
        memory = [engine.peak_memory() for engine in engines]
    finally:
        for engine in engines:
            engine.close()

    peak = float(engines[-1].facts["flop"]) / min(times[-1]) / 1e6
    row = {
        "model": model.name, "spec": os.path.relpath(bench.case.spec, ROOT),
        "set": bench.case.dims + [f"{name}={size}" for name, size in bench.case.sizes.items()],
        "tokens": model.tokens, "head_dim": model.head_dim, "threads": threads, "gflop": model.flop() / 1e9,
        "weight_bytes": bench.weight_bytes, "peak_gflops": peak, "other_load": other_load, **bench.cost,
        "attn": entry(times[0], model.flop(), peak, level=attn.facts["level"], vmhwm_bytes=memory[0],
                      vmhwm_after_first_run_bytes=after_first,
                      packed_bytes=int(attn.facts["packed"]),
                      vmhwm_per_weights=memory[0] / bench.weight_bytes),
        "onnxruntime": None, "largest_difference": difference,
    }
    peers = [entry(times[n], model.flop(), peak, variant=variant, vmhwm_bytes=memory[n])
             for n, variant in enumerate(variants, 1)]
    if peers:
        row["onnxruntime"] = min(peers, key=lambda peer: peer["min_ms"])
    row["ratio_min"], row["ratio_median"] = report.ratio(row, "min_ms"), report.ratio(row, "median_ms")
    return row


def run(options, peer=None):
    """The table as data. `peer` is looked for where it is not given."""
    commandline.check_product(options)
    for case in options.cases:
        if not os.access(case.spec, os.R_OK):
            raise Failure(ENVIRONMENT, f"{case.spec} cannot be read")
    cpus = len(os.sched_getaffinity(0))
    if max(options.threads) > cpus:
        raise Failure(USAGE, f"--threads {max(options.threads)}: this process may use {cpus} CPUs")

    runners = build_runners(os.path.join(PEERS, "bin"))
    peer = peer or find_peer()
    notes = []
    if not peer.library:
        notes.append(f"ONNX Runtime is left out: {peer.missing}.")
        say(notes[0])
    rows, version = [], None
    for case in options.cases:
        say(" ".join([os.path.relpath(case.spec), *case.dims]))
        bench = Workbench(case, options, runners, peer)
        try:
            version = bench.description["version"]
            for threads in options.threads:
                rows.append(compare(bench, threads, options.rounds))
                row = rows[-1]
                say(f"  {threads} threads: attn {report.times(row['attn'])} ms, ONNX Runtime "
                    f"{report.times(row['onnxruntime'])} ms, ratio {report.number(row['ratio_min'], 3)}")
        finally:
            bench.close()
    return {"cpu": report.cpu_name(), "cpus": os.cpu_count(), "kernel": f"Linux {platform.release()}",
            "date": datetime.date.today().isoformat(), "attn_version": version,
            "onnxruntime_version": peer.version, "rounds": options.rounds, "seed": SEED, "notes": notes, "rows": rows}


def main():
    options = parse_options(sys.argv[1:])
    try:
        result = run(options)
        print(report.markdown(result), end="")
        if options.write:
            say("written: " + " and ".join(report.write(result, options.write)))
    except Failure as failure:
        say(f"compare.py: error: {failure}")
        return failure.code
    except OSError as error:
        say(f"compare.py: error: {error}")
        return ENVIRONMENT
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
