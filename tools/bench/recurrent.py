#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times layers of LSTM and GRU (recurrent.attn) beside ONNX Runtime's operators of these names.

Both get the same weights and inputs, and their outputs must agree before anything is timed.

Exit codes: 0 measured, 1 wrong input, 2 usage, 3 the outputs disagree, 4 something is missing here.
"""
import datetime
import json
import os
import subprocess
import tempfile

import numpy as np

import commandline
import measure
import report
from engines import ROOT, Engine, build_runners, find_onnxruntime, input_word, output_word
from failure import DIFFERENT, ENVIRONMENT, Failure

SPEC = os.path.join(ROOT, "tools", "bench", "recurrent.attn")
BOUND = 1e-4  # of the largest output
GATES = {"lstm": 4, "gru": 3}
ORDER = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2)}  # PyTorch's gates in the order of ONNX: i o f c, and z r h


def arguments():
    options = commandline.parser(__doc__, 20)
    options.add_argument("--threads", type=commandline.positive, default=1)
    options.add_argument("--widths", type=commandline.numbers, default=[256, 1024], metavar="N,...")
    options.add_argument("--batches", type=commandline.numbers, default=[1, 32], metavar="N,...")
    options.add_argument("--steps", type=commandline.positive, default=128)
    options.add_argument("--kinds", default="lstm,gru")
    return options.parse_args()


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


def write_onnx(path, kind, tensors, shape):
    """The layer as an operator of ONNX; the runner's output is its first one, [steps, 1, batch, width]."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    order = lambda values: np.concatenate([np.split(values, GATES[kind])[gate] for gate in ORDER[kind]])
    width = tensors[f"{kind}.weight_hh_l0"].shape[1]
    values = {"W": order(tensors[f"{kind}.weight_ih_l0"]), "R": order(tensors[f"{kind}.weight_hh_l0"]),
              "B": np.concatenate([order(tensors[f"{kind}.bias_{part}_l0"]) for part in ("ih", "hh")])}
    weights = [numpy_helper.from_array(value[None], name) for name, value in values.items()]
    own = {"linear_before_reset": 1} if kind == "gru" else {}
    node = helper.make_node(kind.upper(), ["x", "W", "R", "B"], ["logits"], hidden_size=width, **own)
    steps, batch, _ = shape
    graph = helper.make_graph([node], kind, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [steps, 1, batch, width])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def compile_spec(options, folder, sizes):
    library = os.path.join(folder, "recurrent.so")
    words = [options.product, "compile", SPEC, *(f"--set={name}={size}" for name, size in sizes.items()), "--emit=shared", "-o", library]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise Failure(done.returncode, done.stderr.strip())
    return library


def measure_case(options, folder, runners, onnxruntime, width, batch):
    """Times of attn and of ONNX Runtime, for each kind of layer."""
    os.makedirs(folder)
    library = compile_spec(options, folder, {"T": options.steps, "B": batch, "U": width, "I": width})
    random = np.random.default_rng(15)
    draw = lambda *shape: random.standard_normal(shape, np.float32) / np.float32(np.sqrt(width))
    tensors = {f"{kind}.{name}_{part}_l0": draw(gates * width, *([width] if name == "weight" else []))
               for kind, gates in GATES.items() for name in ("weight", "bias") for part in ("ih", "hh")}
    weights, path = os.path.join(folder, "weights.safetensors"), os.path.join(folder, "x.bin")
    write_safetensors(weights, tensors)
    shape = (options.steps, batch, width)
    (draw(*shape) * np.float32(np.sqrt(width))).tofile(path)
    for kind in options.kinds.split(","):
        model = os.path.join(folder, kind + ".onnx")
        write_onnx(model, kind, tensors, shape)
        ours = [runners["run_attn"], library, "attn_model_recurrent", weights, str(options.threads), kind,
                input_word("x", "f32", shape, path), output_word("logits", shape)]
        theirs = [runners["run_ort"], onnxruntime, model, str(options.threads), input_word("x", "f32", shape, path),
                  output_word("logits", (shape[0], 1, *shape[1:]))]
        with Engine("attn", ours) as attn, Engine("ONNX Runtime", theirs) as peer:
            attn.run(0, 1), peer.run(0, 1)
            wanted = peer.output(shape)
            difference = np.abs(attn.output(shape) - wanted).max() / np.abs(wanted).max()
            if not difference < BOUND:
                raise Failure(DIFFERENT, f"{kind} of {width}, batch {batch}: outputs differ by {difference:.1e}")
            load = measure.OtherLoad([attn, peer])
            times = [measure.summarize(found) for found in measure.interleave([attn, peer], options.rounds)]
            yield kind, times, load.share()


def main():
    options = arguments()
    commandline.check_product(options)
    onnxruntime, reason = find_onnxruntime()
    if not onnxruntime:
        raise Failure(ENVIRONMENT, f"ONNX Runtime: {reason}")
    runners = build_runners(os.path.join(ROOT, "build", "peers", "bin"))
    lines = [f"Recurrent layers of {options.steps} steps on {report.cpu_name()}, {options.threads} thread(s), least ms.", "",
             "| layer | width | batch | attn | ONNX Runtime | ratio of least | ratio of medians | other load |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for width in options.widths:
            for batch in options.batches:
                case = measure_case(options, os.path.join(folder, f"{width}-{batch}"), runners, onnxruntime, width, batch)
                for kind, (attn, peer), load in case:
                    lines.append(f"| {kind.upper()} | {width} | {batch} | {attn.minimum:.2f} | {peer.minimum:.2f} | "
                                 f"{attn.minimum / peer.minimum:.2f} | {attn.median / peer.median:.2f} | {load:.0%} |")
                    print(lines[-1], flush=True)
    if options.write:
        report.keep(commandline.results("recurrent", str(datetime.date.today())) + ".md", "\n".join(lines) + "\n")


if __name__ == "__main__":
    commandline.run(main)
