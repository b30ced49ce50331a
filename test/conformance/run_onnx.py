# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs cases of the ONNX backend test suite through Attn.

    /usr/bin/python3 test/conformance/run_onnx.py [--attn PATH] [-j N] DIR...

A case is a folder with model.onnx and test_data_set_K/{input,output}_N.pb; every one under the given folders is imported
(`attn import`), compiled and run (`attn run`), and all its outputs are compared with the expected ones. Prints a line for
each case that fails, then `N passed, N failed`; exit code 0 where none failed, 1 where one did, 2 where there is none.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper

# The suite's own: onnx.backend.test.case.node.expect gives every case of an operator these two, whatever its type, and
# onnx.backend.test.runner compares shape and type exactly and values by numpy.testing.assert_allclose.
RTOL, ATOL = 1e-3, 1e-7
SECONDS = 120  # for one command; compiling a case takes a fraction of one


class Failure(Exception):
    """Why a case fails, on one line."""


def tensor(path):
    proto = onnx.TensorProto()
    proto.ParseFromString(path.read_bytes())
    return onnx.numpy_helper.to_array(proto)


def call(command):
    """Runs a command of attn; its first line of errors where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Failure(f"`attn {command[1]}` took more than {SECONDS} s") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Failure(f"`attn {command[1]}` exits with {done.returncode}: {said[0] if said else 'no message'}")


def names(spec):
    """What the spec calls the inputs and the outputs, in the order of the graph's."""
    header = re.search(r"entry attention\((.*?)\)\s+->\s+(.*?) \{", spec.read_text(), re.DOTALL)
    if not header:
        raise Failure("the spec has no entry `attention`")
    return [re.findall(r"(\w+): \w+\[", part) for part in header.groups()]


def used_inputs(model):
    """Which of the graph's inputs its operators read."""
    used = {name for node in model.graph.node for name in node.input}
    return [number for number, value in enumerate(model.graph.input) if value.name in used]


def compare(name, found, expected):
    if found.shape != expected.shape:
        raise Failure(f"{name} is {found.shape}, expected {expected.shape}")
    if found.dtype != expected.dtype:
        raise Failure(f"{name} is {found.dtype}, expected {expected.dtype}")
    if not np.allclose(found, expected, rtol=RTOL, atol=ATOL, equal_nan=True):
        off = ~np.isclose(found, expected, rtol=RTOL, atol=ATOL, equal_nan=True)
        place = tuple(int(i) for i in np.argwhere(off)[0])
        raise Failure(f"{name}{list(place)} is {found[place]}, expected {expected[place]} ({off.sum()} of {off.size} differ)")


def run_data(attn, spec, model, data, folder):
    inputs, outputs = names(spec)
    command = [attn, "run", str(spec), "--threads=1"]
    for name, number in zip(inputs, used_inputs(model), strict=True):
        np.save(folder / f"input_{number}.npy", tensor(data / f"input_{number}.pb"))
        command += ["--input", f"{name}={folder}/input_{number}.npy"]
    for number, name in enumerate(outputs):
        command += ["--output", f"{name}={folder}/output_{number}.npy"]
    call(command)
    for number, name in enumerate(outputs):
        compare(name, np.load(folder / f"output_{number}.npy"), tensor(data / f"output_{number}.pb"))


def run_case(attn, case):
    """None, or why the case fails."""
    try:
        with tempfile.TemporaryDirectory(prefix="attn-onnx-") as temporary:
            folder = pathlib.Path(temporary)
            spec = folder / "model.attn"
            call([attn, "import", str(case / "model.onnx"), "-o", str(spec)])
            model = onnx.load(str(case / "model.onnx"))
            for data in sorted(case.glob("test_data_set_*")):
                run_data(attn, spec, model, data, folder)
    except Failure as failure:
        return str(failure)
    except Exception as error:  # a file of the case that cannot be read fails this case, not the others
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return None


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", metavar="DIR", type=pathlib.Path)
    parser.add_argument("--attn", default=str(here.parents[1] / "build/bin/attn"), help="default: build/bin/attn of this checkout")
    parser.add_argument("-j", dest="jobs", type=int, default=len(os.sched_getaffinity(0)), help="cases at a time")
    arguments = parser.parse_args()
    cases = sorted({model.parent for folder in arguments.folders for model in folder.rglob("model.onnx")
                    if any(model.parent.glob("test_data_set_*"))})
    if not cases:
        print("error: there is no case under the given folders", file=sys.stderr)
        return 2
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for case, reason in zip(cases, pool.map(lambda case: run_case(arguments.attn, case), cases)):
            if reason:
                failed += 1
                print(f"FAILED {case.name}: {reason}", flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
