#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many users of a model of Llama's form beside llama.cpp (npm's node-llama-cpp, which batches sequences), on the same GGUF files of random weights.

Each user asks again when he has his answer. Prompts have 32 to 1500 tokens, answers 64 to 256, by logarithms alike. Users begin one after the other, by intervals of half a second in the mean. Both sides get the same requests, in turns. Printed are tokens a second, of answers; the time to the first token, and from token to token: medians and 99 of 100.

Exit codes: 0 measured, 1 wrong input, 2 usage, 4 something is missing here.
"""
import datetime
import json
import math
import os
import sys
import tempfile
import time

import numpy as np

import commandline
import levels
import llama
import report
from engines import ROOT

sys.path.insert(0, os.path.join(ROOT, "runtime", "python"))


def make_users(count, requests, seed):
    random = np.random.default_rng(seed)
    between = lambda least, most: int(math.exp(random.uniform(math.log(least), math.log(most))))
    begin, users = 0.0, []
    for _ in range(count):
        users.append({"begin": begin, "requests": [{"prompt": random.integers(300, 30000, between(32, 1500)).tolist(), "answer": between(64, 256)}
                                                   for _ in range(requests)]})
        begin += random.exponential(0.5)
    return users


def own_run(library, model, users, threads):
    """The requests through a scheduler of this process."""
    import attn
    loaded = attn.load(library, weights=model)
    scheduler = attn.Scheduler(loaded, threads=threads, rows=len(users))
    start, done = time.monotonic(), []
    now = lambda: time.monotonic() - start
    waiting = [(user["begin"], list(user["requests"])) for user in users]

    def ask(left):
        request, times = left.pop(0), []
        record = {"at": now(), "tokens": times}

        def end(_):
            done.append(record)
            if left:
                ask(left)
        scheduler.submit(request["prompt"], limit=request["answer"], stops=[], temperature=0, on_token=lambda _: times.append(now()), on_end=end)
    busy = False
    while waiting or busy:
        while waiting and waiting[0][0] <= now():
            ask(waiting.pop(0)[1])
        busy = scheduler.step()
        if not busy and waiting:
            time.sleep(max(0, waiting[0][0] - now()))
    scheduler.close()
    loaded.close()
    return done


def summary(done):
    """Tokens a second, then median and 99 of 100 of the first token and of the others, in milliseconds."""
    first = [request["tokens"][0] - request["at"] for request in done]
    later = [b - a for request in done for a, b in zip(request["tokens"], request["tokens"][1:])]
    count = sum(len(request["tokens"]) for request in done)
    end, begin = max(request["tokens"][-1] for request in done), min(request["at"] for request in done)
    return [count / (end - begin), *(1e3 * np.percentile(times, percent) for times in (first, later) for percent in (50, 99))]


def main():
    options = commandline.parser(__doc__, 2)
    options.add_argument("--shape", choices=llama.SHAPES, default="1.1", help=f"of {', '.join(llama.SHAPES)}; default: 1.1")
    options.add_argument("--formats", default=",".join(llama.PRECISIONS))
    options.add_argument("--users", type=commandline.numbers, default=[1, 4, 16, 32], metavar="N,...")
    options.add_argument("--requests", type=commandline.positive, default=2, help="of each user; default: 2")
    options.add_argument("--threads", type=commandline.positive, default=2)
    levels.add_option(options)
    options = options.parse_args()
    commandline.check_product(options)
    levels.hold(options.level)
    package = llama.find_package()
    if levels.llama_build():
        package = llama.holding(package, levels.llama_build())
    date = datetime.date.today().isoformat()
    with open(os.path.join(package, "package.json")) as file:
        version = json.load(file)["version"]
    held = f" held to {levels.held()} and to its build for {levels.llama_build()}" if levels.held() else ""
    lines = [
        "# Many users beside llama.cpp",
        "",
        f"{report.cpu_name()}{held}, {date}, {options.threads} threads, {options.rounds} turns of each, the better of which counts; llama.cpp is that of node-llama-cpp "
        f"{version}, which batches its sequences. Files of random weights of {options.shape} billion parameters; {options.requests} requests of each user. Milliseconds.",
        "",
        "| file | users | side | tokens a second | first token, median | 99 of 100 | next token, median | 99 of 100 |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines), flush=True)
    for form in options.formats.split(","):
        with tempfile.TemporaryDirectory() as folder:
            model, spec, library, asked = (os.path.join(folder, name) for name in ("model.gguf", "model.attn", "model.so", "users.json"))
            llama.write_model(model, options.shape, form)
            llama.run(options.product, "import", model, "-o", spec)
            llama.run(options.product, "compile", spec, f"--precision={llama.PRECISIONS[form]}", "--emit=shared", "-o", library, *levels.target_words())
            for count in options.users:
                users = make_users(count, options.requests, count)
                with open(asked, "w") as file:
                    json.dump(users, file)
                sides = {"attn": lambda: own_run(library, model, users, options.threads),
                         "llama.cpp": lambda: json.loads(llama.run("node", "--preserve-symlinks", os.path.join(llama.BENCH, "run_llama_users.mjs"), package, model,
                                                                  str(options.threads), asked).splitlines()[-1])}
                best = {}
                for _ in range(options.rounds):
                    for side, run in sides.items():
                        made = summary(run())
                        best[side] = max(best.get(side, made), made)
                for side, (rate, *times) in best.items():
                    lines.append(f"| {form} | {count} | {side} | {rate:.1f} | " + " | ".join(f"{value:.0f}" for value in times) + " |")
                    print(lines[-1], flush=True)
                lines.append(f"| {form} | {count} | ratio | " + " | ".join(f"{own / other:.2f}" for own, other in zip(*best.values())) + " |")
                print(lines[-1], flush=True)
    if options.write:
        report.keep(commandline.results("-".join(["users", *filter(None, [levels.held()])]), date) + ".md", "\n".join(lines) + "\n")


if __name__ == "__main__":
    commandline.run(main)
