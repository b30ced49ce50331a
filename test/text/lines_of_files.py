#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs of many lines: vectors as one text alone has them, labels, errors of lines, shards, and jobs that are killed and gone on with.

usage: lines_of_files.py FOLDER        # FOLDER has the checkpoint of test/import/make.py's minilm
       lines_of_files.py --classes FOLDER  # that of distilbert-classes
       lines_of_files.py --objects FOLDER  # that of detr"""
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "a", "on", "mat", "prices", "is", "up", "!", "##s", "sit", "ris", "##e"]
WINDOW = 2048


def run(*command, code=0, text=None, env=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, env={**os.environ, **(env or {})})
    assert done.returncode == code, f"{command}: exit {done.returncode}\n{done.stderr}"
    return done


def write_vocabulary(folder):
    vocabulary = json.load(open(f"{folder}/config.json"))["vocab_size"]
    with open(f"{folder}/vocab.txt", "w") as file:
        file.write("\n".join(WORDS + [f"word{i}" for i in range(vocabulary - len(WORDS))]) + "\n")


def write_lines(path, lines):
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


def spoil(path, word):
    """Makes what is known of a word no number."""
    with open(path, "r+b") as file:
        size = int.from_bytes(file.read(8), "little")
        tensor = json.loads(file.read(size))["embeddings.word_embeddings.weight"]
        row = 4 * tensor["shape"][1]
        file.seek(8 + size + tensor["data_offsets"][0] + row * WORDS.index(word))
        file.write(np.full(row // 4, np.nan, np.float32).tobytes())


def texts(count):
    words = random.Random(1)
    return [" ".join(words.choice(WORDS[5:14]) for _ in range(words.randint(1, 36))) for _ in range(count)]


def read(folder, shard=""):
    """The bytes of a job's files, of which NumPy and a parser of JSON read what is there."""
    rows = [json.loads(line) for line in open(f"{folder}/results{shard}.jsonl")]
    vectors = np.load(f"{folder}/vectors{shard}.npy")
    assert len(rows) == len(vectors) and vectors.dtype == np.float32
    assert not [name for name in os.listdir(folder) if name.endswith(".part") and shard in name]
    return open(f"{folder}/results{shard}.jsonl", "rb").read(), open(f"{folder}/vectors{shard}.npy", "rb").read(), rows, vectors


def check_vectors(folder, program, lines):
    """One text alone, and any number of threads, give the same bits."""
    write_lines(f"{folder}/texts.txt", lines)
    write_lines(f"{folder}/lines.jsonl", [json.dumps({"id": [i, f"n\u00e9 \"{i}"][i % 2], "more": [{}], "text": text}) for i, text in enumerate(lines)])
    run(program, "--embed", "--file", f"{folder}/texts.txt", "--output", f"embedding={folder}/wanted.npy", "--threads", "1")
    for threads in "123":
        run(program, "--lines", f"{folder}/lines.jsonl", "--output", f"{folder}/out{threads}/", "--threads", threads)
    one = read(f"{folder}/out1")
    assert (one[3] == np.load(f"{folder}/wanted.npy")).all(), "other bits than of --embed"
    for i in random.Random(2).sample(range(len(lines)), 40):
        run(program, "--embed", "--prompt", lines[i], "--output", f"embedding={folder}/alone.npy")
        assert (one[3][i] == np.load(f"{folder}/alone.npy")[0]).all(), "other bits than of one text alone"
    assert [row["id"] for row in one[2]] == [[i, f"n\u00e9 \"{i}"][i % 2] for i in range(len(lines))]
    assert read(f"{folder}/out2")[:2] == one[:2] and read(f"{folder}/out3")[:2] == one[:2]
    run(program, "--lines", "-", "--output", f"{folder}/piped", text=open(f"{folder}/lines.jsonl").read())
    assert read(f"{folder}/piped")[:2] == one[:2]
    # Rows of one file, or of a filter, have their vectors.
    printed = run(program, "--lines", "-", "--output", "-", text=open(f"{folder}/lines.jsonl").read()).stdout
    run(program, "--lines", f"{folder}/lines.jsonl", "--output", f"{folder}/rows.jsonl")
    assert open(f"{folder}/rows.jsonl").read() == printed
    rows = [json.loads(line) for line in printed.splitlines()]
    assert [row["id"] for row in rows] == [row["id"] for row in one[2]]
    assert (np.array([row["vector"] for row in rows], np.float32) == one[3]).all()
    return one


def check_errors(folder, program, most):
    """What is wrong with a line is its result; the others are as they were."""
    long = " ".join(["cat"] * (most + 3))
    lines = ['{"id": "a", "text": "the cat"}', "not JSON", '{"id": 3}', '{"id": [1], "text": "cat"}', '{"text": "mat"}', '{"id": 6.5, "text": 7}', "",
             json.dumps({"id": "long", "text": long}), '{"id": "b", "text": "the cat", "text_pair": "a mat"}', '{"id": 10, "text": ""}', '{"id": 11, "text": "\\ud800"}',
             '{"id": 12, "text": "the cat"} {}', '{"id": 13, "text": "sat", "text_pair": null}', '{"id": -1e3, "text": "the cat"}', '{"id": "!", "text": "a !"}']
    write_lines(f"{folder}/bad.jsonl", lines)
    said = run(program, "--lines", f"{folder}/bad.jsonl", "--output", f"{folder}/bad", code=1).stderr
    assert "error[R0218]: 10 of 15 lines of" in said and "results.jsonl` say what is wrong" in said, said
    _, _, rows, vectors = read(f"{folder}/bad")
    wanted = {2: "line 2: it is no JSON", 3: "line 3: it has no `text`", 4: "line 4: its `id` is neither a string nor a number", 6: "line 6: its `text` is no string",
              7: "line 7: it is no JSON", 8: f"line 8: the text has {most + 5} tokens, but entry `embed` takes {most}", 11: "line 11: it is no JSON",
              12: "line 12: it is no JSON: more behind the object", 13: "line 13: its `text_pair` is no string", 15: "line 15: its vector holds what is no number"}
    for number, (row, vector) in enumerate(zip(rows, vectors), 1):
        assert row.get("error", "").startswith(wanted.get(number, "")) and ("error" in row) == (number in wanted), row
        assert np.isnan(vector).all() if number in wanted else np.isfinite(vector).all()
    assert [row["id"] for row in rows] == ["a", 2, 3, 4, 5, 6.5, 7, "long", "b", 10, 11, 12, 13, -1000, "!"]
    assert (vectors[0] == vectors[13]).all() and (vectors[0] != vectors[8]).any(), "a pair is no text alone"
    # --embed takes the same lines, and ends at the first error, or says what is wrong with each.
    embed = [program, "--embed", "--file", f"{folder}/bad.jsonl", "--output", f"embedding={folder}/embedded.npy"]
    assert "bad.jsonl:2`: it is no JSON" in run(*embed, code=1).stderr
    said = run(*embed, "--skip-errors").stderr
    assert "bad.jsonl:15`: its vector holds what is no number; its vector is NaN" in said and "10 of 15 lines have no vector" in said, said
    assert np.load(f"{folder}/embedded.npy").tobytes() == vectors.tobytes()
    run(program, "--lines", f"{folder}/bad.jsonl", "--output", f"{folder}/bad", "--truncate", code=1)
    assert np.isfinite(read(f"{folder}/bad")[3][7]).all()
    # What was there is as bad when it is asked for again.
    assert "9 of 15" in run(program, "--lines", f"{folder}/bad.jsonl", "--output", f"{folder}/bad", "--resume", code=1).stderr
    assert "error[U0005]" in run(program, "--lines", f"{folder}/bad.jsonl", "--output", f"{folder}/bad.jsonl", code=2).stderr
    run(program, "--lines", f"{folder}/bad.jsonl", "--output", f"{folder}/bad.jsonl/x", code=4)
    os.makedirs(f"{folder}/none", exist_ok=True)
    open(f"{folder}/empty.jsonl", "w").close()
    assert "has no lines" in run(program, "--lines", f"{folder}/empty.jsonl", "--output", f"{folder}/none", code=1).stderr
    assert os.listdir(f"{folder}/none") == []


def kill(command, files, counts):
    """Ends a job, begun anew with --resume, each time that its file has so many rows; again from the start where it was too fast."""
    part = f"{files}.part"
    for _ in range(20):
        killed = 0
        for rows in counts:
            job = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            while job.poll() is None:
                if os.path.exists(part) and open(part, "rb").read().count(b"\n") >= rows:
                    job.send_signal(signal.SIGKILL)
                    break
                time.sleep(0.001)
            killed += job.wait() == -signal.SIGKILL and not os.path.exists(files)
        if killed == len(counts):
            return
        for name in (files, part):
            if os.path.exists(name):
                os.remove(name)
    raise AssertionError("a job ended before it was killed, 20 times")


def check_kills(folder, program, wanted):
    """A job that is killed several times, and gone on with, has the bytes of one run."""
    out = f"{folder}/killed"
    job = [program, "--lines", f"{folder}/lines.jsonl", "--output", out, "--threads", "1", "--resume"]
    part = f"{out}/results.jsonl.part"
    kill(job, f"{out}/results.jsonl", [i * WINDOW for i in range(1, 5)])
    # As if a row had been written in part, and one file was behind the other.
    with open(part, "ab") as file:
        file.write(b'{"id": ')
    os.truncate(f"{out}/vectors.npy.part", os.path.getsize(f"{out}/vectors.npy.part") - 10)
    said = run(*job).stderr
    assert "rows were in" in said, said
    assert read(out)[:2] == wanted[:2]
    assert "which was there" in run(*job).stderr
    # A run that ended between the names of its two files.
    os.rename(f"{out}/results.jsonl", part)
    run(*job)
    assert read(out)[:2] == wanted[:2]
    # Rows of other lines are not gone on with.
    os.rename(f"{out}/results.jsonl", part)
    os.rename(f"{out}/vectors.npy", f"{out}/vectors.npy.part")
    other = f"{folder}/other.jsonl"
    lines = open(f"{folder}/lines.jsonl").read().splitlines()
    write_lines(other, lines[1:] + lines[:1])
    assert "error[R0304]" in run(program, "--lines", other, "--output", out, "--resume", code=1).stderr
    write_lines(other, lines[:-1])
    assert "error[R0304]" in run(program, "--lines", other, "--output", out, "--resume", code=1).stderr
    assert os.path.exists(part)


def check_others(folder, program):
    """Two runs do not write one file."""
    job = [program, "--lines", f"{folder}/lines.jsonl", "--output", f"{folder}/twice", "--threads", "1"]
    first = subprocess.Popen(job, stderr=subprocess.DEVNULL)
    while not os.path.exists(f"{folder}/twice/results.jsonl.part") and first.poll() is None:
        time.sleep(0.001)
    first.send_signal(signal.SIGSTOP)
    if os.path.exists(f"{folder}/twice/results.jsonl.part"):
        for more in ([], ["--resume"]):
            assert "another run writes it" in run(*job, *more, code=4).stderr
    first.send_signal(signal.SIGCONT)
    assert first.wait() == 0
    read(f"{folder}/twice")


def check_shards(folder, program, wanted):
    """Four jobs of a part each, of which one is killed and started again, are one run."""
    out = f"{folder}/shards"
    job = lambda i: [program, "--lines", f"{folder}/lines.jsonl", "--output", out, "--threads", "1", "--resume", "--shard", f"{i}/4"]
    others = [subprocess.Popen(job(i), stderr=subprocess.DEVNULL) for i in (1, 2, 4)]
    kill(job(3), f"{out}/results-3-of-4.jsonl", [1])
    assert [one.wait() for one in others] == [0, 0, 0]
    run(*job(3))
    parts = [read(out, f"-{i}-of-4") for i in range(1, 5)]
    assert b"".join(part[0] for part in parts) == wanted[0], "other rows than those of one run"
    assert (np.concatenate([part[3] for part in parts]) == wanted[3]).all()
    # What clusters say; a shard may have no line.
    few = f"{folder}/few.jsonl"
    write_lines(few, ['{"text": "cat"}'] * 3)
    shard = lambda env, expected, value="auto", code=0: run(program, "--lines", few, "--output", f"{folder}/auto", "--shard", value, env=env, code=code).stderr.count(expected)
    for env in ({"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_STEP": "2", "SLURM_ARRAY_TASK_COUNT": "12"},
                {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "12"}, {"PMI_RANK": "3", "PMI_SIZE": "12"}, {"SLURM_PROCID": "3", "SLURM_NTASKS": "12"}):
        assert shard(env, "results-04-of-12.jsonl"), env
    assert shard({"JOB_COMPLETION_INDEX": "11"}, "results-12-of-12.jsonl", "auto/12")
    assert read(f"{folder}/auto", "-04-of-12")[2] == [{"id": 1}] and len(read(f"{folder}/auto", "-12-of-12")[2]) == 1
    assert shard({"JOB_COMPLETION_INDEX": "11"}, "help: pass their number: `--shard auto/16`", code=2)
    assert shard({"PMI_RANK": "12", "PMI_SIZE": "12"}, "says shard 13 of 12", code=2)
    assert shard({"PMI_RANK": "x", "PMI_SIZE": "12"}, "`PMI_RANK` is `x`, expected a whole number", code=2)
    assert shard({}, "no variable of a cluster is set", code=2)
    for value in ("0/4", "5/4", "3", "/4", "3/", "3/0", "a/4", "3/4/5", "auto/", "-1/4"):
        assert shard({}, "expected a shard, from 1 on, and their number", value, code=2)


def check_classes(folder):
    """Labels and scores are those that a softmax of the logits says."""
    write_vocabulary(folder)
    run("attn", "import", folder, "-o", f"{folder}/spec.attn")
    lines = texts(50)
    write_lines(f"{folder}/lines.jsonl", [json.dumps({"text": text}) for text in lines])
    program = f"{folder}/program"
    run("attn", "compile", "-O0", f"{folder}/spec.attn", "--weights", folder, "--embed-weights", "-o", program)
    run(program, "--lines", f"{folder}/lines.jsonl", "--output", f"{folder}/out")
    rows = [json.loads(line) for line in open(f"{folder}/out/results.jsonl")]
    assert [row["id"] for row in rows] == list(range(1, 51)) and os.listdir(f"{folder}/out") == ["results.jsonl"]
    labels = ["anger", "joy", "fear"]
    for text, row in list(zip(lines, rows))[:3]:
        ids = np.array([[int(one) for one in run("attn", "tokenize", f"{folder}/vocab.txt", text, "--ids").stdout.split()]], np.int32)
        np.save(f"{folder}/ids.npy", ids)
        np.save(f"{folder}/lengths.npy", np.array([ids.shape[1]], np.int32))
        run(program, "--input", f"ids={folder}/ids.npy", "--input", f"lengths={folder}/lengths.npy", "--output", f"scores={folder}/scores.npy")
        logits = np.load(f"{folder}/scores.npy")[0].astype(float)
        scores = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        assert row["labels"] == [labels[i] for i in np.argsort(-scores)] and np.abs(np.sort(scores)[::-1] - row["scores"]).max() < 1e-6, row
    print("50 lines have labels")


def check_objects(folder):
    """What a detector finds is what is printed of each picture."""
    from PIL import Image
    run("attn", "import", folder, "-o", f"{folder}/spec.attn")
    pixels, printed = np.random.default_rng(3), []
    command = ["attn", "run", "-O0", f"{folder}/spec.attn", "--weights", folder, "--entry", "detect"]
    for i in range(3):
        Image.fromarray(pixels.integers(0, 256, (70, 70, 3), dtype=np.uint8)).save(f"{folder}/{i}.png")
        printed.append(run(*command, "--input", f"image={folder}/{i}.png").stdout.splitlines()[1:])
    write_lines(f"{folder}/lines.jsonl", [json.dumps({"image": f"{folder}/{i}.png"}) for i in range(3)])
    rows = [json.loads(row) for row in run(*command, "--lines", f"{folder}/lines.jsonl", "--output", "-").stdout.splitlines()]
    for wanted, row in zip(printed, rows):
        got = [f"  picture 0: {one['label']} {100 * one['score']:.1f} %; {' '.join(f'{edge:.3f}' for edge in one['box'])}" for one in row["objects"]]
        assert got == wanted, f"{row}, printed {wanted}"
    print(f"{sum(map(len, printed))} objects")


def main():
    if sys.argv[1] == "--objects":
        check_objects(sys.argv[2])
        return
    if sys.argv[1] == "--classes":
        check_classes(sys.argv[2])
        return
    folder, = sys.argv[1:]
    write_vocabulary(folder)
    program = f"{folder}/program"
    run("attn", "import", folder, "-o", f"{folder}/spec.attn")
    spoil(f"{folder}/model.safetensors", "!")
    run("attn", "compile", "-O0", f"{folder}/spec.attn", "--weights", folder, "--embed-weights", "-o", program)
    lines = texts(6 * WINDOW + 100)
    wanted = check_vectors(folder, program, lines)
    check_errors(folder, program, json.load(open(f"{folder}/config.json"))["max_position_embeddings"])
    check_kills(folder, program, wanted)
    check_shards(folder, program, wanted)
    check_others(folder, program)
    print(f"{len(lines)} lines: every one once, as alone")


if __name__ == "__main__":
    main()
