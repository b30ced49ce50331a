# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same models with weights in f32, bf16, int8 and int4: time and error beside f32, time in f32 and bf16 beside PyTorch's and
beside a chain of oneDNN's primitives, decoding beside the memory's speed, and what becomes of Fashion-MNIST's 10,000 pictures."""
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import levels
import measure
import models
from engines import HERE, PEERS, ROOT, Engine, has_tiles, input_word, output_word
from failure import DIFFERENT, ENVIRONMENT, Failure
from kernels import Attention, Linear, compile_library

PRECISIONS = ("f32", "bf16", "int8", "int4")
PEER_VARIANTS = {"PyTorch": ("modules", "packed", "encoder"),  # of run_torch_model.py
                 "oneDNN": ("strided", "apart")}               # of run_onednn_model.cpp
EXAMPLES = os.path.join(ROOT, "examples")
KERNELS = [Linear(197, 768, 2304), Linear(197, 768, 768), Linear(197, 768, 3072), Linear(197, 3072, 768), Attention(197),
           Attention(1024), Attention(4096)]
BOUND = 2e-2  # relative L2 of bf16
MODELS = [("vit/vit_b16.attn", {}), ("language/bert_base.attn", {"T": 128}), ("language/gpt2.attn", {"T": 512})]


def model_row(spec, sizes, tools, rounds, seed):
    """Milliseconds of each precision in turns, and its relative L2 error beside f32."""
    with tempfile.TemporaryDirectory(dir=PEERS) as folder, contextlib.ExitStack() as stack:
        libraries = {p: compile_library(tools.product, os.path.join(EXAMPLES, spec), {}, os.path.join(folder, p + ".so"),
                                        f"--precision={p}") for p in PRECISIONS}
        text = subprocess.run([tools.product, "inspect", libraries["f32"], "--json"], capture_output=True, text=True).stdout
        description = json.loads(text)
        model = models.read_description(description, sizes)
        checkpoint = os.path.join(folder, "weights.safetensors")
        models.write_safetensors(checkpoint, models.random_weights(description, seed))
        tensors = []
        for (name, dtype, shape), values in zip(model.input_types(), model.make_inputs(np.random.default_rng(seed + 1))):
            values.tofile(os.path.join(folder, name + ".bin"))
            tensors.append(input_word(name, dtype, shape, os.path.join(folder, name + ".bin")))
        tensors += [output_word(name, shape) for name, shape in model.outputs()]
        engines = [stack.enter_context(Engine(p, [
            tools.runners["run_attn"], library, model.symbol, checkpoint, str(tools.threads), model.entry, *tensors]))
            for p, library in libraries.items()]
        outputs = []
        for engine in engines:
            engine.run(0, 1)
            outputs.append(engine.output(model.outputs()[0][1]).astype(np.float64))
        peers = start_peers(stack, os.path.basename(spec).split(".")[0], model.tokens, tools)
        tiles = [tile_peak(stack, tools)] if has_tiles() else []
        rivals = [engine for variants in peers.values() for engine in variants]
        times = [measure.summarize(found) for found in measure.interleave(engines + rivals + tiles, rounds)]
    row = {"case": f"{model.name} {model.tokens}", "threads": tools.threads}
    if tiles:
        row["tile_peak_gflops"] = float(tiles[0].facts["flop"]) / times[-1].minimum / 1e6
    for engine, found, output in zip(engines, times, outputs):
        row[engine.name] = {
            "level": engine.facts["level"], "min_ms": found.minimum, "median_ms": found.median,
            "gflops": model.flop() / found.minimum / 1e6, "packed_bytes": int(engine.facts["packed"]),
            "ratio_min": found.minimum / times[0].minimum, "ratio_median": found.median / times[0].median,
            "relative_l2": float(np.linalg.norm(output - outputs[0]) / np.linalg.norm(outputs[0]))}
    row["peers"] = []
    first = len(engines)
    for (peer, precision), variants in peers.items():
        found = times[first:first + len(variants)]
        first += len(variants)
        least, best = min((times.minimum, engine.name) for engine, times in zip(variants, found))
        row["peers"].append({"peer": peer, "precision": precision, "variant": best, "min_ms": least,
                             "ratio_min": row[precision]["min_ms"] / least,
                             "ratio_median": row[precision]["median_ms"] / min(times.median for times in found)})
    return row


def start_peers(stack, name, tokens, tools):
    """Engines of all variants of a model by peer and precision; in f32 alone at a level that does not multiply bf16."""
    commands = {}
    if tools.has_torch:
        commands["PyTorch"] = [sys.executable, os.path.join(HERE, "run_torch_model.py"), name]
    if tools.onednn:
        commands["oneDNN"] = [tools.onednn["run_onednn_model"]]
    return {(peer, precision): [
        stack.enter_context(Engine(variant, [*command, str(tokens), str(tools.threads), precision, variant]))
        for variant in PEER_VARIANTS[peer]]
        for peer, command in commands.items() for precision in (("f32",) if levels.held() else ("f32", "bf16"))}


def tile_peak(stack, tools):
    """Products of tile registers alone, in turns with the others."""
    return stack.enter_context(Engine("tiles", [tools.runners["run_peak"], str(tools.threads), "tiles"]))


def kernel_row(case, tools, rounds, seed):
    """One linear or attention in f32 and in bf16, in turns with products of tile registers alone where the CPU has them."""
    with tempfile.TemporaryDirectory(dir=PEERS) as folder, contextlib.ExitStack() as stack:
        engines = []
        for precision in ("f32", "bf16"):
            own, shape, _ = case.prepare(tools, folder, np.random.default_rng(seed), precision)
            engines.append(stack.enter_context(Engine(precision, own[0][1])))
        outputs = []
        for engine in engines:
            engine.run(0, 1)
            outputs.append(engine.output(shape).astype(np.float64))
        error = float(np.linalg.norm(outputs[1] - outputs[0]) / np.linalg.norm(outputs[0]))
        if not error <= BOUND:
            raise Failure(DIFFERENT, f"{case.title}: bf16 differs by {error:.1e}")
        if has_tiles():
            engines.append(tile_peak(stack, tools))
        times = [measure.summarize(found) for found in measure.interleave(engines, rounds)]
    f32, bf16 = times[:2]
    row = {"case": case.title, "threads": tools.threads, "f32_min_ms": f32.minimum, "min_ms": bf16.minimum,
           "median_ms": bf16.median, "ratio_min": bf16.minimum / f32.minimum, "ratio_median": bf16.median / f32.median,
           "gflops": case.flop() / bf16.minimum / 1e6, "level": engines[1].facts["level"], "relative_l2": error}
    if has_tiles():
        row["tile_peak_gflops"] = float(engines[2].facts["flop"]) / times[2].minimum / 1e6
    return row


def decode_rows(tools, rounds):
    """One token of GPT-2: the least milliseconds, and the bytes that it reads a second as a share of what this machine
    reads. Both are of one process each time, one right after the other, since a host may give two threads one core now
    and two then; of these shares the median counts."""
    with tempfile.TemporaryDirectory(dir=PEERS) as folder:
        programs = {}
        for precision in PRECISIONS:
            programs[precision] = compile_library(tools.product, os.path.join(EXAMPLES, "language", "gpt2.attn"), {},
                                                  os.path.join(folder, precision), f"--precision={precision}", "--emit=exe")
        found = {precision: [] for precision in PRECISIONS}
        for _ in range(rounds):
            for precision, program in programs.items():
                words = [tools.product, "bench", program, "--entry", "decode", "--threads", str(tools.threads), "--repeat",
                         "8", "--json"]
                done = subprocess.run(words, capture_output=True, text=True)
                if done.returncode:
                    raise Failure(done.returncode, done.stderr.strip())
                found[precision].append(json.loads(done.stdout))
    rows = []
    for precision, runs in found.items():
        least = min(run["minimum_ms"] for run in runs)
        shares = [run["bytes"] / run["minimum_ms"] * 1e3 / run["peak_bytes_per_s"] for run in runs]
        rows.append({"case": f"GPT2 decode, {precision}", "threads": tools.threads, "min_ms": least,
                     "median_ms": float(np.median([run["median_ms"] for run in runs])), "bytes": runs[0]["bytes"],
                     "bytes_per_s": runs[0]["bytes"] / least * 1e3, "shares": shares, "share": float(np.median(shares))})
    return rows


def fashion_rows(tools):
    """Accuracy on the 10,000 pictures, and the share of them that is classified as with f32."""
    source, rows, first = os.path.join(EXAMPLES, "fashion-vit"), [], None
    with tempfile.TemporaryDirectory(dir=PEERS) as folder:
        os.mkdir(os.path.join(folder, "samples"))
        subprocess.run([tools.product, "compile", os.path.join(source, "fashion_vit.attn"), "--emit=header", "-o",
                        os.path.join(folder, "fashion_vit.h")], check=True, capture_output=True)
        for precision in PRECISIONS:
            library, program = os.path.join(folder, "libfashion_vit.a"), os.path.join(folder, "demo")
            compile_library(tools.product, os.path.join(source, "fashion_vit.attn"), {}, library,
                            f"--precision={precision}", "--emit=static")
            words = ["g++", "-std=c++17", "-O2", "-I" + folder, "-I" + os.path.join(ROOT, "runtime", "include"),
                     os.path.join(source, "demo.cpp"), os.path.join(source, "contact_sheet.cpp"), library, "-lpng", "-ljpeg",
                     "-lz", "-lm", "-lpthread", "-o", program]
            classes = os.path.join(folder, "classes.npy")
            for command in (words, [program, "--weights", os.path.join(source, "fashion_vit.safetensors"), "--predictions",
                                    classes, "--sheet", os.path.join(folder, "sheet.png"), "--samples",
                                    os.path.join(folder, "samples")]):
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    raise Failure(ENVIRONMENT, done.stderr.strip())
            accuracy = float(re.search(r"accuracy +([0-9.]+)%", done.stdout)[1])
            found = np.load(classes)
            first = found if first is None else first
            rows.append({"precision": precision, "accuracy": accuracy, "agreement": 100 * float((found == first).mean())})
    return rows


def of_tile_peak(row, gflops):
    return f"{gflops / row['tile_peak_gflops']:.0%} of {row['tile_peak_gflops'] / 1e3:.2f}" if "tile_peak_gflops" in row else ""


def markdown(rows, kernels, decoding, fashion):
    lines = ["| | threads | " + " | ".join(f"{p} ms, min / median" for p in PRECISIONS)
             + f" | {', '.join(PRECISIONS[1:])} over f32 | relative L2 of these | packed MB | bf16 of the tile registers' TFLOP/s |",
             "| --- |" + " ---: |" * (5 + len(PRECISIONS))]
    for row in rows:
        cells = [row["case"], str(row["threads"])]
        cells += [f"{row[p]['min_ms']:.1f} / {row[p]['median_ms']:.1f}" for p in PRECISIONS]
        cells.append(", ".join(f"{row[p]['ratio_min']:.2f}" for p in PRECISIONS[1:]))
        cells.append(", ".join(f"{row[p]['relative_l2']:.1e}" for p in PRECISIONS[1:]))
        cells.append(", ".join(f"{row[p]['packed_bytes'] / 1e6:.0f}" for p in PRECISIONS))
        cells.append(of_tile_peak(row, row["bf16"]["gflops"]))
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "| beside peers (oneDNN: the layers alone) | threads | attn ms | peer ms | ratio, min / median |",
              "| --- |" + " ---: |" * 4]
    lines += [f"| {row['case']}, {peer['peer']}, {peer['precision']} | {row['threads']} | {row[peer['precision']]['min_ms']:.1f} | "
              f"{peer['min_ms']:.1f} ({peer['variant']}) | {peer['ratio_min']:.2f} / {peer['ratio_median']:.2f} |"
              for row in rows for peer in row["peers"]]
    lines += ["", "| bf16 | threads | f32 ms | bf16 ms, min / median | over f32, min / median | GFLOP/s | of the tile registers' TFLOP/s | "
              "relative L2 |", "| --- |" + " ---: |" * 7]
    lines += [f"| {row['case']} | {row['threads']} | {row['f32_min_ms']:.2f} | {row['min_ms']:.2f} / {row['median_ms']:.2f} | "
              f"{row['ratio_min']:.3f} / {row['ratio_median']:.3f} | {row['gflops']:.0f} | {of_tile_peak(row, row['gflops'])} | "
              f"{row['relative_l2']:.1e} |" for row in kernels]
    lines += ["", "| | threads | ms, min / median | GB/s | of the read bandwidth |", "| --- |" + " ---: |" * 4]
    lines += [f"| {row['case']} | {row['threads']} | {row['min_ms']:.1f} / {row['median_ms']:.1f} | "
              f"{row['bytes_per_s'] / 1e9:.1f} | {row['share']:.0%} |" for row in decoding]
    lines += ["", "| Fashion-MNIST, 10,000 pictures | accuracy | classified as with f32 |", "| --- | ---: | ---: |"]
    lines += [f"| {row['precision']} | {row['accuracy']:.2f}% | {row['agreement']:.2f}% |" for row in fashion]
    return "\n".join(lines) + "\n"
