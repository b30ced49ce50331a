# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests what compare.py is made of, without a compiled model and without measuring anything.

    check_bench.py SOURCE_FOLDER WORK_FOLDER
"""
import contextlib
import io
import json
import os
import subprocess
import sys
import unittest
from unittest import mock

SOURCE, WORK = sys.argv[1:3]
sys.path += [os.path.join(SOURCE, "tools", "bench"), os.path.join(SOURCE, "test", "numeric")]

import numpy as np

import compare
import engines
import measure
import models
import report
import swin
import vit_twin
from failure import BAD_INPUT, DIFFERENT, ENVIRONMENT, Failure


def describe(D, H, L, F, K=10, C=3, P=4, Y=3, X=2, name="fake"):
    """What `attn inspect --json` says of such a model."""
    block = "blocks.{n}."
    shapes = [("cls_token", [1, D], 0), ("pos_embed", [1 + Y * X, D], 0),
              ("patch_embed.proj.weight", [D, C, P, P], 0), ("patch_embed.proj.bias", [D], 0)]
    for part, rows, columns in (("attn.qkv", 3 * D, D), ("attn.proj", D, D), ("mlp.fc1", F, D), ("mlp.fc2", D, F)):
        shapes += [(block + part + ".weight", [rows, columns], L), (block + part + ".bias", [rows], L)]
    for norm, layers in ((block + "norm1", L), (block + "norm2", L), ("norm", 0)):
        shapes += [(norm + ".weight", [D], layers), (norm + ".bias", [D], layers)]
    shapes += [("head.weight", [K, D], 0), ("head.bias", [K], 0)]
    axes = [{"name": "B", "size": 64, "dynamic": True}]
    axes += [{"name": str(size), "size": size, "dynamic": False} for size in (C, Y * P, X * P)]
    return {"name": name, "symbol": "attn_model_fake", "version": "0", "dims": [{"name": "H", "size": H, "dynamic": False}],
            "entries": [{"name": "classify", "inputs": [{"name": "image", "axes": axes}]}],
            "parameters": [{"name": n, "dtype": "f32", "shape": s, "layers": layers} for n, s, layers in shapes]}


SMALL = dict(D=40, H=5, L=2, F=72)


def build_fake():
    library = os.path.join(WORK, "fake.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I",
                    os.path.join(SOURCE, "runtime", "include"),
                    os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_model.c"), "-o", library],
                   check=True)
    return library


class Sizes(unittest.TestCase):
    def test_vit_b16_has_its_published_operations(self):
        model = models.read_description(describe(768, 12, 12, 3072, K=1000, P=16, Y=14, X=14))
        self.assertEqual((model.tokens, model.head_dim, model.L, model.Y), (197, 64, 12, 14))
        self.assertAlmostEqual(model.flop() / 1e9, 35.1, places=1)

    def test_tall_picture(self):
        model = models.read_description(describe(**SMALL, Y=5, X=2))
        self.assertEqual((model.input_types()[0][2], model.tokens), ((1, 3, 20, 8), 11))

    def test_other_architecture_is_refused(self):
        description = describe(**SMALL)
        description["parameters"].pop(2)
        with self.assertRaisesRegex(Failure, "none of the parameters .*`patch_embed.proj.weight`") as raised:
            models.read_description(description)
        self.assertEqual(raised.exception.code, BAD_INPUT)

    def test_bert_base_and_gpt2_have_their_published_operations(self):
        bert = models.Bert("b", "b", D=768, H=12, L=12, F=3072, V=30522, tokens=128)
        self.assertAlmostEqual(bert.flop() / 1e9, 22.3, places=1)
        gpt2 = models.Gpt2("g", "g", D=768, H=12, L=12, F=3072, V=50257, tokens=512)
        linears = 2 * 12 * 12 * 768**2 * 512 + 2 * 768 * 50257  # 12 D^2 parameters a layer
        self.assertEqual(gpt2.flop() - linears, 2 * 12 * 2 * 768 * 512 * 513 // 2)

    def test_swin_t_has_its_published_operations(self):
        stages = [swin.Stage(96 << n, 3 << n, layers, 384 << n, 56 >> n) for n, layers in enumerate((2, 2, 6, 2))]
        model = swin.Swin("s", "s", D=768, H=24, L=12, F=3072, stages=stages, K=1000, M=7, P=4)
        self.assertAlmostEqual(model.flop() / 2e9, 4.5, places=1)

    def test_heads_must_divide_the_width(self):
        with self.assertRaisesRegex(Failure, "divides the width 40"):
            models.read_description(describe(D=40, H=3, L=1, F=8))

    def test_checkpoint_has_a_tensor_per_layer(self):
        path = os.path.join(WORK, "weights.safetensors")
        tensors = models.random_weights(describe(**SMALL), 1)
        models.write_safetensors(path, tensors)
        found = vit_twin.read_safetensors(path)
        self.assertEqual(len(found), 4 + 2 * 12 + 2 + 2)
        for name, values in tensors.items():
            np.testing.assert_array_equal(found[name], values)


class Measuring(unittest.TestCase):
    def test_summary(self):
        times = measure.summarize([5.0, 1.0, 3.0, 2.0])
        self.assertEqual((times.minimum, times.median, times.p90, times.runs), (1, 2.5, 5, 4))

    def test_short_runs_share_a_turn(self):
        self.assertEqual([measure.runs_per_turn(t) for t in (400, 100, 15, 0)], [1, 2, 10, measure.MOST_RUNS])

    def test_turns_rotate(self):
        turns = []
        fakes = [mock.Mock(run=lambda warm, count, n=n: turns.append(n) or [100.0] * count) for n in range(2)]
        times = measure.interleave(fakes, 3)
        self.assertEqual(turns, [0, 0, 1, 1, 0, 1, 1, 0, 0, 1])
        self.assertEqual([len(t) for t in times], [6, 6])

    def test_slow_runs_have_none_before_them(self):
        calls = []
        slow = mock.Mock(run=lambda warm, count: calls.append((warm, count)) or [900.0] * count)
        self.assertEqual(measure.interleave([slow], 2), [[900.0, 900.0]])
        self.assertEqual(calls, [(0, 1)] * 3)

    def test_outputs_that_differ(self):
        ours = np.array([1.0, -4.0], np.float32)
        self.assertLess(compare.check_outputs(ours, ours + 1e-3, "close"), 1e-3)
        for other in (ours + 0.01, ours[::-1], ours * np.nan):
            with self.assertRaises(Failure) as raised:
                compare.check_outputs(ours, other, "far")
            self.assertEqual(raised.exception.code, DIFFERENT)


class Report(unittest.TestCase):
    def test_file_name(self):
        self.assertEqual(report.file_name("Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", "2026-01-02"),
                         "intel-xeon-gold-6230-cpu-2.10ghz-2026-01-02")

    def test_set_belongs_to_the_spec_before_it(self):
        options = compare.parse_options(["--spec", "a", "--set", "D=8", "--spec", "b", "--threads", "1,4"])
        self.assertEqual([(case.spec, case.dims) for case in options.cases], [("a", ["D=8"]), ("b", [])])
        self.assertEqual(options.threads, [1, 4])
        options = compare.parse_options(["--spec", "a", "--size", "T=128"])
        self.assertEqual((options.cases[0].dims, options.cases[0].sizes), ([], {"T": 128}))


class Runners(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runners = engines.build_runners(WORK)
        cls.library = build_fake()
        cls.description = describe(**SMALL)
        cls.weights = os.path.join(WORK, "w.safetensors")
        models.write_safetensors(cls.weights, {"bias": np.full(3, 7, np.float32)})
        cls.picture = os.path.join(WORK, "image.bin")
        np.arange(3 * 12 * 8, dtype=np.float32).tofile(cls.picture)

    def start(self, **changes):
        words = dict(library=self.library, symbol="attn_model_fake", weights=self.weights, threads="1", entry="classify",
                     input=engines.input_word("image", "f32", (1, 3, 12, 8), self.picture),
                     output=engines.output_word("logits", (1, 10)))
        words.update(changes)
        return engines.Engine("attn", [self.runners["run_attn"], *words.values()])

    def test_run_and_output(self):
        with self.start() as engine:
            times = engine.run(1, 4)
            self.assertEqual(len(times), 4)
            self.assertTrue(all(t >= 0 for t in times))
            np.testing.assert_array_equal(engine.output((1, 10)), [2 * np.arange(10) + 7])
            self.assertEqual(engine.facts, {"level": "fake", "packed": "4"})
            self.assertGreater(engine.peak_memory(), 100_000)

    def test_stopped_between_turns(self):
        with self.start() as engine:
            engine.run(0, 1)
            os.waitid(os.P_PID, engine.process.pid, os.WSTOPPED)
            with open(f"/proc/{engine.process.pid}/stat") as file:
                self.assertEqual(file.read().rpartition(")")[2].split()[0], "T")

    def test_messages_arrive(self):
        for changes, message in (({"weights": WORK + "/missing"}, "W0101"), ({"symbol": "other"}, "other: the library has no such model"),
                                 ({"output": "logits=1,x"}, "expected sizes"), ({"entry": "sing"}, "no such entry"),
                                 ({"input": "image=f32:1,3,12,8:none@0"}, "be read"), ({"input": "image=f32:8:none"}, "FILE@OFFSET"),
                                 ({"input": "logits=3"}, "inputs and outputs"), ({"output": "1,10"}, "expected NAME="),
                                 ({"library": WORK + "/none.so"}, "none.so")):
            with self.assertRaisesRegex(Failure, message) as raised:
                self.start(**changes)
            self.assertEqual(raised.exception.code, ENVIRONMENT)
        with self.start(input=engines.input_word("image", "f32", (3, 12, 8), self.picture)) as engine, self.assertRaisesRegex(Failure, "R0101"):
            engine.run(0, 1)

    def test_peak_counts_every_thread(self):
        for kind in ([], ["tiles"]):
            if kind and not engines.has_tiles():
                with self.assertRaisesRegex(Failure, "no tile registers"):
                    engines.Engine("peak", [self.runners["run_peak"], "1", *kind])
                continue
            flops = []
            for threads in (1, 2):
                with engines.Engine("peak", [self.runners["run_peak"], str(threads), *kind]) as engine:
                    self.assertGreater(engine.run(0, 1)[0], 0)
                    flops.append(float(engine.facts["flop"]))
            self.assertEqual(flops[1], 2 * flops[0])

    def test_whole_run_without_onnxruntime(self):
        product = os.path.join(WORK, "attn")
        with open(product, "w") as file:
            file.write(f"""#!/bin/sh
case $1 in
  compile) [ "$6" = --set ] && [ "$7" = D=40 ] && cp {self.library} "$5" ;;
  inspect) cat {WORK}/description.json ;;
esac
""")
        os.chmod(product, 0o755)
        with open(WORK + "/description.json", "w") as file:
            json.dump(self.description, file)
        words = ["compare.py", "--spec", product, "--set", "D=40", "--threads", "1", "--quick", "--product", product,
                 "--write", WORK + "/results"]
        missing = compare.Peer(None, "this test wants none")
        output = io.StringIO()
        with mock.patch.multiple(compare, PEERS=WORK, find_peer=lambda: missing), mock.patch("sys.argv", words), \
                contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(compare.main(), 0)
        self.assertIn("ONNX Runtime is left out: this test wants none.", output.getvalue())
        names = sorted(os.listdir(WORK + "/results"))
        self.assertEqual([name.rpartition(".")[2] for name in names], ["json", "md"])
        with open(os.path.join(WORK, "results", names[0])) as file:
            row = json.load(file)["rows"][0]
        self.assertEqual((row["set"], row["tokens"], row["ratio_min"]), (["D=40"], 7, None))
        self.assertEqual(row["weight_bytes"], sum(v.nbytes for v in models.random_weights(self.description, 1).values()))
        self.assertGreater(row["attn"]["vmhwm_per_weights"], 0)
        self.assertFalse([name for name in os.listdir(WORK) if name.startswith("work-")])


class Onnx(unittest.TestCase):
    def test_graphs_are_well_formed(self):
        """Those of standard operators alone; compare.py holds the outputs of all against the compiled model's."""
        import onnx
        import onnx_graph

        sizes = dict(D=12, H=3, L=2, F=20)
        layers = [f"encoder.layer.{n}." for n in range(2)]
        bert = {f"embeddings.{name}_embeddings.weight": (rows, 12)
                for name, rows in (("word", 30), ("position", 9), ("token_type", 2))}
        linears = [(layer + name, shape) for layer in layers for name, shape in (
            ("attention.self.query", (12, 12)), ("attention.self.key", (12, 12)), ("attention.self.value", (12, 12)),
            ("attention.output.dense", (12, 12)), ("intermediate.dense", (20, 12)), ("output.dense", (12, 20)))]
        for name, shape in linears + [("pooler.dense", (12, 12))]:
            bert.update({name + ".weight": shape, name + ".bias": shape[:1]})
        for name in ["embeddings."] + [layer + part for layer in layers for part in ("attention.output.", "output.")]:
            bert.update({name + "LayerNorm.weight": (12,), name + "LayerNorm.bias": (12,)})
        gpt2 = {"wte.weight": (30, 12), "wpe.weight": (9, 12), "ln_f.weight": (12,), "ln_f.bias": (12,)}
        for n in range(2):
            for name, shape in (("attn.c_attn", (12, 36)), ("attn.c_proj", (12, 12)), ("mlp.c_fc", (12, 20)),
                                ("mlp.c_proj", (20, 12)), ("ln_1", (12,)), ("ln_2", (12,))):
                gpt2.update({f"h.{n}.{name}.weight": shape, f"h.{n}.{name}.bias": shape[-1:]})
        for model, shapes in ((models.Bert("b", "b", **sizes, V=30, tokens=7), bert),
                              (models.Gpt2("g", "g", **sizes, V=30, tokens=7), gpt2)):
            tensors = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
            store = onnx_graph.Store(WORK, tensors)
            for variant in ("plain", "packed"):
                path = model.write_onnx(store, variant)
                onnx.checker.check_model(path)
                inferred = onnx.shape_inference.infer_shapes(onnx.load(path), check_type=True, strict_mode=True)
                found = [tuple(d.dim_value for d in output.type.tensor_type.shape.dim) for output in inferred.graph.output]
                self.assertEqual(found, [shape for _, shape in model.outputs()])

    def test_variants_agree_with_torch(self):
        try:
            import onnx_graph
            library = engines.glob.glob(engines.PEERS + "/node_modules/onnxruntime-node/bin/*/linux/x64/libonnx*.so*")[0]
        except (ImportError, IndexError):
            self.skipTest("python3-onnx or ONNX Runtime is not here")
        description = describe(**SMALL)
        model, weights = models.read_description(description), models.random_weights(description, 3)
        runners = engines.build_runners(WORK)
        (picture,) = model.make_inputs(np.random.default_rng(4))
        picture.tofile(WORK + "/onnx.bin")
        shaped = dict(weights, cls_token=weights["cls_token"].reshape(1, 1, -1),
                      pos_embed=weights["pos_embed"].reshape(1, -1, model.D))
        expected = vit_twin.logits(vit_twin.build_model(shaped, model.H), picture)
        store = onnx_graph.Store(WORK, weights)
        tensors = [engines.input_word("image", "f32", picture.shape, WORK + "/onnx.bin"),
                   engines.output_word("logits", expected.shape)]
        for variant in onnx_graph.VARIANTS:
            words = [runners["run_ort"], library, model.write_onnx(store, variant), "1"]
            with self.subTest(variant), engines.Engine(variant, words + tensors) as engine:
                engine.run(0, 1)
                self.assertLess(compare.check_outputs(engine.output(expected.shape), expected, variant), 1e-5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
