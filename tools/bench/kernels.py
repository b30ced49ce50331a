# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single attentions and single linears, beside ONNX Runtime, PyTorch and oneDNN in the same turns."""
import contextlib
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import numpy as np

import levels
import measure
from engines import HERE, ROOT, Engine, build_onednn, input_word, output_word
from failure import DIFFERENT, Failure

BENCH = os.path.join(ROOT, "tools", "bench")
BOUND = 1e-3  # of the largest output


def compile_library(product, spec, dims, path, *more):
    words = [product, "compile", spec, *(f"--set={name}={size}" for name, size in dims.items()), "--emit=shared", "-o",
             path, *levels.target_words(), *more]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise Failure(done.returncode, done.stderr.strip())
    return path


@dataclass
class Attention:
    """`heads` of `features` over `length` positions, no mask."""

    length: int
    heads: int = 12
    features: int = 64

    @property
    def title(self):
        return f"attention {self.length} x {self.heads} x {self.features}"

    def flop(self):
        return 4 * self.heads * self.features * self.length**2

    def shape(self):
        return (self.length, self.heads, self.features)

    def by_head(self, values):
        return np.ascontiguousarray(np.swapaxes(values, -3, -2))[..., None, :, :, :]

    def prepare(self, tools, folder, rng, precision="f32"):
        """Name and words of the product's engines and of the peers', and whether their tensors are by head."""
        library = compile_library(tools.product, os.path.join(BENCH, "attention.attn"),
                                  {"T": self.length, "H": self.heads, "E": self.features},
                                  os.path.join(folder, f"attention-{precision}.so"), "--precision=" + precision)
        values = rng.standard_normal((3, *self.shape()), np.float32)
        rows, heads = os.path.join(folder, "rows.bin"), os.path.join(folder, "heads.bin")
        values.tofile(rows)
        np.stack([self.by_head(part)[0] for part in values]).tofile(heads)

        def words(path, shape):
            return [input_word(name, "f32", shape, path, 4 * n * values[0].size)
                    for n, name in enumerate(("query", "key", "value"))] + [output_word("logits", shape)]

        ours = [("heads" if by_head else "rows", [tools.runners["run_attn"], library, "attn_model_attention", "-",
                                                  str(tools.threads), entry, *words(path, shape)], by_head)
                for entry, path, shape, by_head in (("full", rows, self.shape(), False),
                                                    ("heads", heads, (self.heads, self.length, self.features), True))]
        sizes, peers = [1, self.heads, self.length, self.features], []
        if tools.onnxruntime:
            import onnx_attention

            for variant in onnx_attention.VARIANTS:
                path = os.path.join(folder, variant + ".onnx")
                onnx_attention.write(path, variant, False, sizes)
                whole = variant == "mha"
                tensors = words(rows, [1, self.length, self.heads * self.features]) if whole else words(heads, sizes)
                peers.append(("ONNX Runtime, " + variant,
                              [tools.runners["run_ort"], tools.onnxruntime, path, str(tools.threads), *tensors], not whole))
        if tools.has_torch:
            for variant in ("fused", "products"):
                peers.append(("PyTorch, " + variant, [sys.executable, os.path.join(HERE, "run_torch.py"), variant, "none",
                                                      str(tools.threads), heads, ",".join(map(str, sizes))], True))
        return ours, self.shape(), peers

    def as_theirs(self, ours, by_head):
        return self.by_head(ours) if by_head else ours


@dataclass
class Linear:
    """`rows` of `k` to `n`, with a bias."""

    rows: int
    k: int
    n: int

    @property
    def title(self):
        return f"linear {self.rows} x {self.k} -> {self.n}"

    def flop(self):
        return 2 * self.rows * self.k * self.n

    def prepare(self, tools, folder, rng, precision="f32"):
        import models

        library = compile_library(tools.product, os.path.join(BENCH, "linears.attn"),
                                  {"M": self.rows, "K": self.k, "N": self.n},
                                  os.path.join(folder, f"linear-{precision}.so"), "--precision=" + precision)
        weights = {"w.weight": rng.standard_normal((self.n, self.k), np.float32) / np.float32(self.k**0.5),
                   "w.bias": rng.standard_normal(self.n, np.float32)}
        checkpoint = os.path.join(folder, "w.safetensors")
        models.write_safetensors(checkpoint, weights)
        paths = {}
        for name, values in {"x": rng.standard_normal((self.rows, self.k), np.float32), **weights}.items():
            paths[name] = os.path.join(folder, name + ".bin")
            values.tofile(paths[name])
        x = input_word("x", "f32", (self.rows, self.k), paths["x"])
        shape = (self.rows, self.n)
        ours = [("linear", [tools.runners["run_attn"], library, "attn_model_linears", checkpoint, str(tools.threads), "apply", x,
                  output_word("apply", shape)], False)]
        peers = []
        if tools.onnxruntime:
            for variant in ("gemm", "matmul"):
                path = os.path.join(folder, variant + ".onnx")
                self.write_onnx(path, variant, weights)
                peers.append(("ONNX Runtime, " + variant, [tools.runners["run_ort"], tools.onnxruntime, path,
                                                           str(tools.threads), x, output_word("out", shape)], False))
        if tools.onednn:
            peers.append(("oneDNN, matmul", [
                tools.onednn["run_onednn"], str(tools.threads), x, input_word("w", "f32", (self.n, self.k), paths["w.weight"]),
                input_word("bias", "f32", (self.n,), paths["w.bias"]), output_word("out", shape)], False))
        return ours, shape, peers

    def write_onnx(self, path, variant, weights):
        import onnx
        from onnx import TensorProto, helper, numpy_helper

        bias = numpy_helper.from_array(weights["w.bias"], "bias")
        if variant == "gemm":
            nodes = [helper.make_node("Gemm", ["x", "w", "bias"], ["out"], transB=1)]
            constants = [numpy_helper.from_array(weights["w.weight"], "w"), bias]
        else:
            nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Add", ["y", "bias"], ["out"])]
            constants = [numpy_helper.from_array(np.ascontiguousarray(weights["w.weight"].T), "w"), bias]
        graph = helper.make_graph(nodes, variant, [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [self.rows, self.k])], [
            helper.make_tensor_value_info("out", TensorProto.FLOAT, [self.rows, self.n])], constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    @staticmethod
    def as_theirs(ours, by_head):
        return ours


ATTENTIONS = [Attention(length) for length in (197, 512, 1024, 4096)]
LINEARS = [Linear(197, 768, 2304), Linear(197, 768, 768), Linear(197, 768, 3072), Linear(197, 3072, 768),
           Linear(197, 384, 1152), Linear(197, 192, 768), Linear(512, 768, 3072), Linear(128, 3072, 768)]


def drawn(rng):
    """Three shapes of each kind that nobody has chosen."""
    def between(least, most):
        return int(rng.integers(least, most + 1))

    attentions = [Attention(between(100, 1500), between(2, 16), 4 * between(6, 32)) for _ in range(3)]
    return attentions, [Linear(between(50, 600), between(100, 3000), between(100, 3000)) for _ in range(3)]


@dataclass
class Tools:
    """What the engines are made of."""

    product: str
    runners: dict
    onnxruntime: str
    onednn: dict
    has_torch: bool
    threads: int = 1


def find_tools(product, runners, onnxruntime, wanted, say):
    """With a sentence for each peer that is wanted and not here."""
    onednn, has_torch = None, False
    if "onednn" in wanted:
        onednn, missing = build_onednn(os.path.dirname(runners["run_attn"]))
        if missing:
            say(f"oneDNN is left out: {missing}.")
    if "pytorch" in wanted:
        has_torch = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode == 0
        if not has_torch:
            say("PyTorch is left out: Debian's python3-torch is not installed.")
    return Tools(product, runners, onnxruntime, onednn, has_torch)


def compare(case, tools, rounds, seed, say):
    """A row: times of attn's variants, of the fastest variant of each peer, and of the peak, in turns."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        own, shape, peers = case.prepare(tools, folder, np.random.default_rng(seed))
        candidates = [stack.enter_context(Engine(name, words)) for name, words, _ in own]
        for engine in candidates:
            engine.run(0, 1)
        ours, best = candidates[0].output(shape), {}
        for engine, (_, _, by_head) in zip(candidates, own):
            expected = case.as_theirs(ours, by_head)
            difference = np.abs(engine.output(expected.shape) - expected).max() / np.abs(ours).max()
            if not difference <= BOUND:
                raise Failure(DIFFERENT, f"attn, {case.title}: outputs by head differ by {difference:.1e}")
        for name, words, by_head in peers:
            expected = case.as_theirs(ours, by_head)
            try:
                with Engine(name, words) as engine:
                    time = min(engine.run(1, 3))
                    difference = np.abs(engine.output(expected.shape) - expected).max() / np.abs(ours).max()
            except Failure as failure:
                say(f"left out: {failure}")
                continue
            if not difference <= BOUND:
                raise Failure(DIFFERENT, f"{name}, {case.title}: outputs differ by {difference:.1e}")
            peer = name.split(",")[0]
            if peer not in best or time < best[peer][0]:
                best[peer] = (time, name, words)
        engines = candidates + [stack.enter_context(Engine(name, words)) for _, name, words in best.values()]
        engines.append(stack.enter_context(Engine("peak", [tools.runners["run_peak"], str(tools.threads)])))
        times = [measure.summarize(found) for found in measure.interleave(engines, rounds)]
        peak = float(engines[-1].facts["flop"]) / times[-1].minimum / 1e6
    variants = dict(zip((name for name, _, _ in own), times))
    fastest = min(variants, key=lambda name: variants[name].minimum)
    least, rate = variants[fastest], case.flop() / variants[fastest].minimum / 1e6
    row = {"case": case.title, "threads": tools.threads, "gflop": case.flop() / 1e9, "variant": fastest,
           "variants_min_ms": {name: found.minimum for name, found in variants.items()}, "min_ms": least.minimum,
           "median_ms": least.median, "gflops": rate, "peak_gflops": peak, "fraction_of_peak": rate / peak, "peers": {}}
    for engine, found in zip(engines[len(own):-1], times[len(own):-1]):
        peer, variant = engine.name.split(", ")
        row["peers"][peer] = {"variant": variant, "min_ms": found.minimum, "median_ms": found.median,
                              "ratio_min": least.minimum / found.minimum, "ratio_median": least.median / found.median}
    return row


def markdown(rows):
    """A table of rows; peers in the order in which they come."""
    peers = list(dict.fromkeys(peer for row in rows for peer in row["peers"]))
    variants = list(rows[0]["variants_min_ms"]) if rows else []
    titles = ["", "threads", "attn ms, min / median", "GFLOP/s", "of the peak"]
    if len(variants) > 1:
        titles.append("by " + ", ".join(variants))
    for peer in peers:
        titles += [f"{peer} ms", "ratio, min / median"]
    lines = ["| " + " | ".join(titles) + " |", "| --- |" + " ---: |" * (len(titles) - 1)]
    for row in rows:
        cells = [row["case"], str(row["threads"]), f"{row['min_ms']:.2f} / {row['median_ms']:.2f}", f"{row['gflops']:.0f}",
                 f"{row['fraction_of_peak']:.0%}"]
        if len(variants) > 1:
            cells.append(", ".join(f"{time:.2f}" for time in row["variants_min_ms"].values()))
        for peer in peers:
            found = row["peers"].get(peer)
            cells += [f"{found['min_ms']:.2f} ({found['variant']})",
                      f"{found['ratio_min']:.2f} / {found['ratio_median']:.2f}"] if found else ["-", "-"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
