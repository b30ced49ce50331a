#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times a job of many short texts, through a sentence encoder of MiniLM's shape with random weights: `--embed`, from lines of plain text to one file of vectors, `--lines`, from lines of JSON to a folder of results, and ONNX Runtime on the same graph. All of them run texts of one length together.

Both of attn's are whole processes, with reading, tokens and writing; ONNX Runtime's time is that of its batches alone, of which it gets the tokens. It runs in one session of all threads and in one session a thread, in two ways to write attention; the fastest counts. It cannot be held to a level.

Exit codes: 0 measured, 1 wrong input, 2 usage, 3 vectors differ, 4 something is missing here.
"""
import copy
import datetime
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import commandline
import levels
import report
from engines import PEERS, ROOT, find_onnxruntime
from failure import DIFFERENT, ENVIRONMENT, Failure
from onnx_graph import Graph, Store

sys.path.insert(0, os.path.join(ROOT, "test", "import"))
import make  # noqa: E402
from gguf_file import write_gguf  # noqa: E402
from llama import find_package  # noqa: E402

BENCH = os.path.join(ROOT, "tools", "bench")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WIDTH, HEADS, LAYERS, INNER, VOCABULARY = 384, 12, 6, 1536, 30522  # of MiniLM
SHORTEST, LONGEST = 5, 60  # words of a text, each a token
BATCH_TOKENS = (512, 2048)  # of ONNX Runtime's batches at most; the faster counts


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    if done.returncode:
        raise Failure(ENVIRONMENT if words[0] == "node" else done.returncode, done.stderr.strip()[-2000:])
    return done.stdout


def make_model(folder):
    config, shapes, files = copy.deepcopy(make.FAMILIES["minilm"])
    config.update(hidden_size=WIDTH, num_attention_heads=HEADS, num_hidden_layers=LAYERS, intermediate_size=INNER, vocab_size=VOCABULARY,
                  max_position_embeddings=512)
    files["1_Pooling/config.json"]["word_embedding_dimension"] = WIDTH
    make.FAMILIES["minilm-whole"] = (config, shapes, files)
    weights = make.make("minilm-whole", folder, 1)[1]
    with open(os.path.join(folder, "vocab.txt"), "w") as file:
        file.write("\n".join(SPECIAL + [f"w{i}" for i in range(VOCABULARY - len(SPECIAL))]) + "\n")
    return weights


def make_lines(folder, count):
    """Texts of words that are a token each; the tokens of each, with those at its ends."""
    numbers = random.Random(1)
    tokens = [[numbers.randrange(len(SPECIAL), VOCABULARY) for _ in range(numbers.randint(SHORTEST, LONGEST))] for _ in range(count)]
    with open(os.path.join(folder, "lines.jsonl"), "w") as lines, open(os.path.join(folder, "lines.txt"), "w") as texts:
        for number, row in enumerate(tokens):
            text = " ".join(f"w{token - len(SPECIAL)}" for token in row)
            lines.write(json.dumps({"id": number, "text": text}) + "\n")
            texts.write(text + "\n")
    return [[2, *row, 3] for row in tokens]


def write_graph(folder, weights, variant):
    """The encoder, the mean of its rows and their norm, as `variant` of onnx_graph.py writes attention."""
    store = Store(folder, weights)
    graph = Graph(store, variant)
    x = graph.op("Add", graph.op("Gather", graph.weight("embeddings.word_embeddings.weight"), "ids"),
                 graph.op("Gather", graph.weight("embeddings.position_embeddings.weight"), "positions"))
    x = graph.op("Add", x, graph.weight("segment", lambda: weights["embeddings.token_type_embeddings.weight"][0]))
    x = graph.layernorm("embeddings.LayerNorm", x, 1e-12)
    for n in range(LAYERS):
        layer = f"encoder.layer.{n}."
        names = [f"{layer}attention.self.{part}" for part in ("query", "key", "value")]
        a = graph.attention(x, layer + "attention", HEADS, lambda names=names: np.concatenate([weights[name + ".weight"].T for name in names], 1),
                            lambda names=names: np.concatenate([weights[name + ".bias"] for name in names]))
        x = graph.layernorm(layer + "attention.output.LayerNorm", graph.op("Add", x, graph.linear(layer + "attention.output.dense", a)), 1e-12)
        hidden = graph.gelu(graph.linear(layer + "intermediate.dense", x))
        x = graph.layernorm(layer + "output.LayerNorm", graph.op("Add", x, graph.linear(layer + "output.dense", hidden)), 1e-12)
    mean = graph.mean(x, 1)
    norm = graph.op("ReduceL2", mean, axes=[1], keepdims=1)
    graph.op("Div", mean, norm, name="embedding")
    return graph.write("minilm", [("ids", "i32", ("B", "T")), ("positions", "i32", (1, "T"))], [("embedding", ("B", WIDTH))])


def write_encoder(path, weights):
    """The same as a GGUF file, for llama.cpp."""
    names = {"attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v", "attention.output.dense": "attn_output",
             "attention.output.LayerNorm": "attn_output_norm", "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm"}
    tensors = {"token_embd.weight": weights["embeddings.word_embeddings.weight"], "position_embd.weight": weights["embeddings.position_embeddings.weight"],
               "token_types.weight": weights["embeddings.token_type_embeddings.weight"]}
    tensors.update({f"token_embd_norm.{part}": weights[f"embeddings.LayerNorm.{part}"] for part in ("weight", "bias")})
    tensors.update({f"blk.{n}.{own}.{part}": weights[f"encoder.layer.{n}.{name}.{part}"]
                    for n in range(LAYERS) for name, own in names.items() for part in ("weight", "bias")})
    write_gguf(path, {
        "general.architecture": "bert", "bert.context_length": 512, "bert.embedding_length": WIDTH, "bert.block_count": LAYERS,
        "bert.feed_forward_length": INNER, "bert.attention.head_count": HEADS, "bert.attention.layer_norm_epsilon": 1e-12,
        "bert.attention.causal": False, "bert.pooling_type": 1, "tokenizer.ggml.model": "bert", "tokenizer.ggml.token_type_count": 2,
        "tokenizer.ggml.tokens": SPECIAL + [f"\u2581w{i}" for i in range(VOCABULARY - len(SPECIAL))],
        "tokenizer.ggml.token_type": [3] * len(SPECIAL) + [1] * (VOCABULARY - len(SPECIAL)), "tokenizer.ggml.bos_token_id": 2,
        "tokenizer.ggml.eos_token_id": 3, "tokenizer.ggml.cls_token_id": 2, "tokenizer.ggml.seperator_token_id": 3, "tokenizer.ggml.padding_token_id": 0,
        "tokenizer.ggml.unknown_token_id": 1, "tokenizer.ggml.mask_token_id": 4}, {name: np.asarray(tensor, np.float32) for name, tensor in tensors.items()})


def batches_of(tokens, most):
    """Texts of one length together, the longest first; the places of their rows in the file, too."""
    order = sorted(range(len(tokens)), key=lambda i: -len(tokens[i]))
    batches = []
    for i in order:
        last = batches[-1] if batches else []
        if not last or len(tokens[last[0]]) != len(tokens[i]) or (len(last) + 1) * len(tokens[i]) > most:
            batches.append(last := [])
        last.append(i)
    return batches


class Sides:
    """What takes turns, each a function to seconds."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.weights = make_model(folder)
        self.tokens = make_lines(folder, options.lines)
        self.version = None
        run(options.product, "import", folder, "-o", self.path("model.attn"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self):
        run(self.options.product, "compile", self.path("model.attn"), "--weights", self.folder, "--embed-weights", "-o", self.path("program"),
            *levels.target_words())

    def timed(self, threads, *words):
        """Seconds of the clock and of CPUs."""
        begin, before = time.monotonic(), os.times()
        run(self.path("program"), f"--threads={threads}", *words, env={**os.environ, **levels.environment()})
        after = os.times()
        return time.monotonic() - begin, after.children_user + after.children_system - before.children_user - before.children_system

    def embed(self, threads):
        return self.timed(threads, "--embed", "--file", self.path("lines.txt"), "--output", "embedding=" + self.path("embed.npy"))

    def as_lines(self, threads):
        return self.timed(threads, "--lines", self.path("lines.jsonl"), "--output", self.path("out"))

    def peer(self, variant, most, sessions):
        """A side of ONNX Runtime's, whose vectors have to be those of attn."""
        folder = self.path(variant)
        os.makedirs(folder, exist_ok=True)
        model = os.path.join(folder, variant + ".onnx")
        if not os.path.exists(model):
            write_graph(folder, self.weights, variant)
        batches = batches_of(self.tokens, most)
        list_path, vectors = self.path(f"batches-{most}.json"), self.path("peer.bin")
        with open(list_path, "w") as file:
            json.dump([[self.tokens[i] for i in batch] for batch in batches], file)

        def turn(threads):
            package = os.path.join(PEERS, "node_modules", "onnxruntime-node")
            each = threads if sessions == 1 else 1
            said = json.loads(run("node", os.path.join(BENCH, "run_ort_lines.mjs"), package, model, str(each), str(threads if sessions > 1 else 1), list_path,
                                  vectors))
            self.version = said["version"]
            got = np.fromfile(vectors, np.float32).reshape(-1, WIDTH)
            wanted = np.load(self.path("out/vectors.npy"))[[i for batch in batches for i in batch]]
            if np.abs(got - wanted).max() > 1e-3 * np.abs(wanted).max():
                raise Failure(DIFFERENT, f"ONNX Runtime's vectors ({variant}) differ by {np.abs(got - wanted).max():.1e}")
            return said["seconds"], said["cpu"]
        return turn


    def llama(self, contexts):
        """A side of llama.cpp's, on one context of all threads or one context a thread."""
        model, texts, vectors = self.path("model.gguf"), self.path("texts.json"), self.path("llama.bin")
        if not os.path.exists(model):
            write_encoder(model, self.weights)
        with open(texts, "w") as file:
            json.dump(self.tokens, file)

        def turn(threads):
            said = json.loads(run("node", os.path.join(BENCH, "run_llama_lines.mjs"), find_package(), model, str(1 if contexts > 1 else threads),
                                  str(threads if contexts > 1 else 1), texts, vectors))
            got = np.fromfile(vectors, np.float32).reshape(-1, WIDTH)
            got /= np.linalg.norm(got, axis=1, keepdims=True)
            wanted = np.load(self.path("out/vectors.npy"))
            if np.abs(got - wanted).max() > 1e-2 * np.abs(wanted).max():
                raise Failure(DIFFERENT, f"llama.cpp's vectors differ by {np.abs(got - wanted).max():.1e}")
            return said["seconds"], said["cpu"]
        return turn


def measure(sides, options, threads, hasPeer):
    """Seconds of all turns, of the clock and of CPUs, by side; of ONNX Runtime those of its fastest form."""
    sides.as_lines(threads)
    own = {"--embed": sides.embed, "--lines": sides.as_lines}
    forms = {}
    if hasPeer:
        for variant in ("mha-packed", "attention"):
            for most in BATCH_TOKENS:
                for sessions in (1, 2) if threads > 1 else (1,):
                    forms[f"{variant}, {most} tokens, {threads if sessions > 1 else 1} sessions"] = sides.peer(variant, most, sessions)
        first = {name: turn(threads) for name, turn in forms.items()}
        name = min(first, key=lambda form: first[form][0])
        own[f"ONNX Runtime ({name})"] = forms[name]
        llamas = {f"llama.cpp ({threads if contexts > 1 else 1} contexts)": sides.llama(contexts) for contexts in ((1, 2) if threads > 1 else (1,))}
        first = {name: turn(threads) for name, turn in llamas.items()}
        name = min(first, key=lambda form: first[form][0])
        own[name] = llamas[name]
    times = {name: [] for name in own}
    for turn in range(options.rounds):
        names = list(own)[turn % len(own):] + list(own)[:turn % len(own)]
        for name in names:
            times[name].append(own[name](threads))
    if (np.load(sides.path("embed.npy")) != np.load(sides.path("out/vectors.npy"))).any():
        raise Failure(DIFFERENT, "`--embed` and `--lines` differ")
    return times


def main():
    options = commandline.parser(__doc__, 3)
    options.add_argument("--lines", type=commandline.positive, default=2000, help="default: 2000")
    options.add_argument("--threads", type=commandline.numbers, default=[1, 2], metavar="N,...")
    options.add_argument("--levels", default="native,x86-64-v3", help="default: native,x86-64-v3")
    options = options.parse_args()
    commandline.check_product(options)
    why = find_onnxruntime()[1]
    if why:
        print(f"without ONNX Runtime: {why}", file=sys.stderr)
    date = datetime.date.today().isoformat()
    rows = ["| level | threads | | lines/s, best | lines/s, median | lines per CPU second, best | of `--embed`, best | median | per CPU second |",
            "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    version = None
    with tempfile.TemporaryDirectory() as folder:
        sides = Sides(options, folder)
        for level in options.levels.split(","):
            levels.hold(None if level == "native" else level)
            sides.compile()
            for threads in options.threads:
                times = measure(sides, options, threads, not why and level == "native")
                kinds = {name: (min(clock), statistics.median(clock), min(cpu)) for name, (clock, cpu) in
                         ((name, zip(*turns)) for name, turns in times.items())}
                for name, seconds in kinds.items():
                    cells = [f"{options.lines / one:.0f}" for one in seconds] + [f"{base / one:.2f}" for base, one in zip(kinds["--embed"], seconds)]
                    rows.append(f"| {level} | {threads} | {name} | {' | '.join(cells)} |")
                    print(rows[-1], flush=True)
        version = sides.version
    lines = ["# Many short texts", "",
             f"{report.cpu_name()}, {date}, {options.rounds} turns of each: {options.lines} texts of {SHORTEST} to {LONGEST} words, a token each, through a "
             f"sentence encoder of MiniLM's shape ({LAYERS} layers, {WIDTH} wide) in f32 with random weights. attn's are whole processes, from the file of "
             "texts to the file of vectors, which are the same bits; "
             f"ONNX Runtime{' ' + version if version else ''} gets tokens, in batches of one length, and its batches alone are timed, in the fastest of its forms; llama.cpp by node-llama-cpp gets tokens, too, one text after the other on each of its contexts; ONNX Runtime's threads wait in loops, which counts as CPU time. "
             "Seconds of CPUs tell more than the clock where the machine has other work.", "", *rows]
    if options.write:
        report.keep(commandline.results("lines", date) + ".md", "\n".join(lines) + "\n")


if __name__ == "__main__":
    commandline.run(main)
