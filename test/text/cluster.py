#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the files of examples/cluster as their clusters would, and holds the results to those of one run.

usage: cluster.py EXAMPLES FOLDER   # FOLDER has the checkpoint of test/import/make.py's minilm"""
import os
import re
import shlex
import shutil
import subprocess
import sys

from lines_of_files import json, np, read, run, texts, write_lines, write_vocabulary

SHARES = 16


def prepare(folder):
    """A program in FOLDER, which becomes the working directory, its lines, one of which is an error, and what one run makes of them."""
    write_vocabulary(folder)
    run("attn", "import", folder, "-o", f"{folder}/spec.attn")
    run("attn", "compile", "-O0", f"{folder}/spec.attn", "--weights", folder, "--embed-weights", "-o", f"{folder}/program")
    os.chdir(folder)
    write_lines("lines.jsonl", [json.dumps({"id": i, "text": text} if i != 77 else {"id": i}) for i, text in enumerate(texts(200))])
    run("./program", "--lines", "lines.jsonl", "--output", "one", code=1)
    return read("one")


def joined(folder, shares):
    digits = len(str(shares))
    parts = [read(folder, f"-{i:0{digits}}-of-{shares}") for i in range(1, shares + 1)]
    return b"".join(part[0] for part in parts), np.concatenate([part[3] for part in parts])


def main():
    examples, folder = sys.argv[1:]
    wanted = prepare(folder)
    files = [f"{examples}/cluster/{name}" for name in ("slurm.sh", "parallel.sh", "kubernetes.yaml", "spark.py")]
    slurm, parallel, kubernetes, spark = files

    for i in range(SHARES):
        run("bash", slurm, env={"RESULTS": "slurm", "SLURM_ARRAY_TASK_ID": str(i), "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_COUNT": str(SHARES),
                                "SLURM_CPUS_PER_TASK": "1"})
    results = ["slurm"]
    if shutil.which("parallel"):
        run("bash", parallel, env={"RESULTS": "parallel", "JOBS": "2", "HOME": folder})
        results.append("parallel")
    command = re.search(r'args: \["(.*)"\]', open(kubernetes).read())[1].replace("--output out", "--output kubernetes")
    for i in range(SHARES):
        run("sh", "-c", command, env={"JOB_COMPLETION_INDEX": str(i)})
    results.append("kubernetes")
    for name in results:
        rows, vectors = joined(name, SHARES)
        assert rows == wanted[0] and np.array_equal(vectors, wanted[3], equal_nan=True), name

    command = re.search(r'COMMAND = "(.*)"', open(spark).read())[1]
    lines, rows = open("lines.jsonl").read().splitlines(True), []
    for part in (lines[:90], lines[90:], []):
        done = subprocess.run(shlex.split(f"sh -c '{command} || test $? = 1'"), input="".join(part), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        rows += [json.loads(row) for row in done.stdout.splitlines()]
    assert [row["id"] for row in rows] == list(range(200)) and [row["id"] for row in rows if "error" in row] == [77]
    assert all((np.array(row["vector"], np.float32) == vector).all() for row, vector in zip(rows, wanted[3]) if "vector" in row)
    print(f"{', '.join([*results, 'spark'])}: the rows of one run")


if __name__ == "__main__":
    main()
