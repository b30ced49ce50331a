#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times models of Llama's form beside llama.cpp (npm's node-llama-cpp), on the same GGUF files of random weights; with --ik-llama beside ik_llama.cpp, too, as its weights are and repacked when it loads them (the faster counts).

A file of Q8_0 is computed with in int8_groups, one of Q4_0 in int4_groups; all take the codes as they are. A prompt is read, then tokens follow one by one. All take turns, each in a process of its own. Then processes of attn and llama.cpp start with a file that lies in memory and end behind their first token.

Exit codes: 0 measured, 1 wrong input, 2 usage, 4 something is missing here.
"""
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import commandline
import levels
import report
from engines import PEERS, ROOT
from failure import ENVIRONMENT, Failure

sys.path.insert(0, os.path.join(ROOT, "test", "import"))
from gguf_file import FORMATS, write_gguf  # noqa: E402
from large import peak  # noqa: E402

# Width, layers, heads, heads of keys, feed-forward, vocabulary; billions of parameters come to the name. 8 is Llama 3's.
SHAPES = {"0.3": (1024, 22, 16, 4, 2816, 32000), "1.1": (2048, 22, 32, 4, 5632, 32000), "8": (4096, 32, 32, 8, 14336, 128256)}
PRECISIONS = {"Q8_0": "int8_groups", "Q4_0": "int4_groups"}
BENCH = os.path.join(ROOT, "tools", "bench")


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **levels.environment()})
    if done.returncode:
        raise Failure(done.returncode if words[0] != "node" else ENVIRONMENT, done.stderr.strip()[-2000:])
    return done.stdout


def find_package():
    """The folder of node-llama-cpp with its library for this machine, installed under build/peers where it is not there yet."""
    folder = os.path.join(PEERS, "node_modules", "node-llama-cpp")
    if not os.path.exists(folder):
        if not shutil.which("npm"):
            raise Failure(ENVIRONMENT, "npm, which would install node-llama-cpp, is not here")
        os.makedirs(PEERS, exist_ok=True)
        run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", PEERS, "node-llama-cpp")
    return folder


def holding(package, build):
    """The package with no other CPU library of llama.cpp's than one build; it is links to what is installed."""
    modules = os.path.dirname(package)
    folder = os.path.join(PEERS, "llama-" + build, "node_modules")
    shutil.rmtree(folder, ignore_errors=True)
    bins = os.path.join("@node-llama-cpp", "linux-x64")
    os.makedirs(os.path.join(folder, bins))
    for name in os.listdir(modules):
        if name != "@node-llama-cpp":
            os.symlink(os.path.join(modules, name), os.path.join(folder, name))
    for place, _, names in os.walk(os.path.join(modules, bins)):
        own = os.path.join(folder, os.path.relpath(place, modules))
        os.makedirs(own, exist_ok=True)
        for name in names:
            if not name.startswith("libggml-cpu-") or name == f"libggml-cpu-{build}.so":
                shutil.copy(os.path.join(place, name), own)
    return os.path.join(folder, "node-llama-cpp")


def blocks(random, form, shape):
    """Random codes; scales are such that elements are about as large as trained ones."""
    number, elements, size, *_ = FORMATS[form]
    data = random.integers(0, 256, (int(np.prod(shape)) // elements, size), dtype=np.uint8)
    scales = (0.7 + 0.3 * np.abs(random.standard_normal(len(data)))) * (0.02 / {"Q8_0": 74, "Q4_0": 4.6}[form])
    data[:, :2] = scales.astype(np.float16).view(np.uint8).reshape(-1, 2)
    return form, shape, data.tobytes()


def write_model(path, shape, form):
    """A GGUF file of Llama's form with a vocabulary of bytes and numbered pieces."""
    width, layers, heads, groups, inner, vocabulary = SHAPES[shape]
    random, features, ones = np.random.default_rng(7), width // heads, np.ones(width, np.float32)
    matrix = lambda *sizes: blocks(random, form, sizes)
    tensors = {"token_embd.weight": matrix(vocabulary, width)}
    for layer in range(layers):
        tensors.update({f"blk.{layer}.{name}.weight": tensor for name, tensor in {
            "attn_norm": ones, "attn_q": matrix(width, width), "attn_k": matrix(groups * features, width),
            "attn_v": matrix(groups * features, width), "attn_output": matrix(width, width), "ffn_norm": ones,
            "ffn_gate": matrix(inner, width), "ffn_up": matrix(inner, width), "ffn_down": matrix(width, inner)}.items()})
    tensors.update({"output_norm.weight": ones, "output.weight": matrix(vocabulary, width)})
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    pieces += [f"t{i}" for i in range(vocabulary - len(pieces))]
    write_gguf(path, {
        "general.architecture": "llama", "llama.context_length": 2048, "llama.embedding_length": width,
        "llama.block_count": layers, "llama.feed_forward_length": inner, "llama.rope.dimension_count": features,
        "llama.attention.head_count": heads, "llama.attention.head_count_kv": groups,
        "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.freq_base": 10000.0, "llama.vocab_size": vocabulary,
        "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": pieces,
        "tokenizer.ggml.scores": [float(-i) for i in range(vocabulary)],
        "tokenizer.ggml.token_type": [2, 3, 3] + [6] * 256 + [1] * (vocabulary - 259),
        "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.unknown_token_id": 0}, tensors)


def own_times(options, library, model, threads):
    """Milliseconds of prompts and of single tokens behind them: the least and the median of a turn."""
    bench = [options.product, "bench", library, "--weights", model, f"--threads={threads}", "--json"]
    prompt = json.loads(run(*bench, "--entry", "prefill", f"--set-size=T={options.prompt}", "--repeat", "2"))
    token = json.loads(run(*bench, "--entry", "decode", "--cached", str(options.prompt + options.tokens // 2), "--repeat",
                           str(options.tokens)))
    return [(times["minimum_ms"], times["median_ms"]) for times in (prompt, token)]


def peer_times(options, package, model, threads):
    lists = json.loads(run("node", "--preserve-symlinks", os.path.join(BENCH, "run_llama.mjs"), package, model, str(threads), str(options.prompt),
                           str(options.tokens), "2").splitlines()[-1])
    return [(min(lists[name]), statistics.median(lists[name])) for name in ("prompt_ms", "token_ms")]


def ik_times(options, model, threads, repacks):
    """Of ik_llama.cpp's llama-bench: prompts, and tokens behind them."""
    words = [options.ik_llama, "-m", model, "-t", str(threads), "-p", str(options.prompt), "-n", "0", "-gp",
             f"{options.prompt},{options.tokens}", "-r", "2", "-fa", "1", "-rtr", str(int(repacks)), "-o", "json"]
    prompt, tokens = json.loads(run(*words))
    times = [[1e-6 * ns / count for ns in test["samples_ns"]] for test, count in ((prompt, 1), (tokens, options.tokens))]
    return [(min(test), statistics.median(test)) for test in times]


def measure_model(options, package, folder, shape, form):
    """Prints and returns the rows of a model."""
    model, spec, library = (os.path.join(folder, "model" + ending) for ending in (".gguf", ".attn", ".so"))
    write_model(model, shape, form)
    run(options.product, "import", model, "-o", spec)
    run(options.product, "compile", spec, f"--precision={PRECISIONS[form]}", "--set=B=1", "--emit=shared", "-o", library,
        *levels.target_words())
    sides = {"attn": [lambda threads: own_times(options, library, model, threads)],
             "llama.cpp": [lambda threads: peer_times(options, package, model, threads)]}
    if options.ik_llama:
        sides["ik_llama.cpp"] = [lambda threads, repacks=repacks: ik_times(options, model, threads, repacks) for repacks in (False, True)]
    engines = [(name, engine) for name, own in sides.items() for engine in own]
    rows = []
    for threads in options.threads:
        turns = {engine: [] for _, engine in engines}
        for turn in range(options.rounds):
            for i in range(len(engines)):
                engine = engines[(turn + i) % len(engines)][1]
                turns[engine].append(engine(threads))
        for kind, what in enumerate((f"prompt of {options.prompt}", "token")):
            least, median = {}, {}
            for name, own in sides.items():
                least[name] = min(turn[kind][0] for engine in own for turn in turns[engine])
                median[name] = min(statistics.median(turn[kind][1] for turn in turns[engine]) for engine in own)
            for peer in list(sides)[1:]:
                rows.append(f"| {shape} | {form} | {threads} | {what} | {peer} | {least['attn']:.1f} / {median['attn']:.1f} | {least[peer]:.1f} / "
                            f"{median[peer]:.1f} | {least['attn'] / least[peer]:.2f} | {median['attn'] / median[peer]:.2f} |")
                print(rows[-1], flush=True)
    return rows


def measure_start(options, package, folder, shape, form):
    """The row of a model's first token and memory, behind measure_model in the same folder; each side starts twice, the second time for the clock."""
    model, spec, library, program = (os.path.join(folder, "model" + ending) for ending in (".gguf", ".attn", ".so", ""))
    run(options.product, "compile", spec, f"--precision={PRECISIONS[form]}", "--set=B=1", "-o", program, *levels.target_words())
    threads = options.threads[-1]
    pair = [[program, "--weights", model, f"--threads={threads}", "--prompt", "Hello", "--max-tokens", "1"],
            ["node", "--preserve-symlinks", os.path.join(BENCH, "run_llama.mjs"), package, model, str(threads), "6", "1", "0"]]
    seconds, peaks = [], []
    for words in pair:
        peaks.append(peak(*words))
        begin = time.monotonic()
        run(*words)
        seconds.append(time.monotonic() - begin)
    packed = json.loads(run(options.product, "bench", library, "--weights", model, "--entry", "decode", "--repeat", "1", "--json"))["weight_bytes"]
    return (f"| {shape} | {form} | {os.path.getsize(model) / 1e9:.2f} | {packed / 1e9:.2f} | {peaks[0] / 1e9:.2f} | {peaks[0] / packed:.2f} | "
            f"{peaks[1] / 1e9:.2f} | {seconds[0]:.1f} | {seconds[1]:.1f} |")


def main():
    options = commandline.parser(__doc__, 4)
    options.add_argument("--shapes", default="0.3,1.1", help=f"of {', '.join(SHAPES)}; 8 takes 14 GB of memory; default: 0.3,1.1")
    options.add_argument("--formats", default=",".join(PRECISIONS))
    options.add_argument("--threads", type=commandline.numbers, default=[1, 2], metavar="N,...")
    levels.add_option(options)
    options.add_argument("--ik-llama", metavar="PATH", help="llama-bench of ik_llama.cpp, built for the level that is measured")
    options.add_argument("--prompt", type=commandline.positive, default=512, help="tokens of a prompt; default: 512")
    options.add_argument("--tokens", type=commandline.positive, default=24, help="that follow it; default: 24")
    options = options.parse_args()
    commandline.check_product(options)
    if options.ik_llama and not os.access(options.ik_llama, os.X_OK):
        raise Failure(ENVIRONMENT, f"{options.ik_llama} cannot be run")
    levels.hold(options.level)
    package = find_package()
    if levels.llama_build():
        package = holding(package, levels.llama_build())
    held = f" held to {levels.held()} and to its build for {levels.llama_build()}" if levels.held() else ""
    date = datetime.date.today().isoformat()
    with open(os.path.join(package, "package.json")) as file:
        version = json.load(file)["version"]
    lines = [
        "# Llama's form beside llama.cpp",
        "",
        f"{report.cpu_name()}{held}, {date}, {options.rounds} turns of each; llama.cpp is that of node-llama-cpp {version}. Files of random weights; "
        "Q8_0 is computed with in int8_groups, Q4_0 in int4_groups. Ratios are attn over the peer: below 1, attn is faster.",
        "",
        "| billion parameters | file | threads | what | peer | attn ms, min / median | peer's ms, min / median | ratio, min | ratio, median |",
        "| ---: | --- | ---: | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    starts = [
        "",
        f"Processes of {options.threads[-1]} threads that read a prompt of one word and end behind one token, the file in memory. Peaks are resident memory; "
        "that of llama.cpp is a map of the file, for the most part. Gigabytes, seconds.",
        "",
        "| billion parameters | file | of bytes | packed | attn's peak | over packed | llama.cpp's peak | attn, first token | llama.cpp, first token |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines), flush=True)
    for shape in options.shapes.split(","):
        for form in options.formats.split(","):
            with tempfile.TemporaryDirectory() as folder:
                lines += measure_model(options, package, folder, shape, form)
                starts.append(measure_start(options, package, folder, shape, form))
    print("\n".join(starts), flush=True)
    lines += starts
    if options.write:
        report.keep(commandline.results("-".join(["llama", *filter(None, [levels.held()])]), date) + ".md", "\n".join(lines) + "\n")


if __name__ == "__main__":
    commandline.run(main)
