# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs that are timed: built, started and commanded (protocol.h)."""
import contextlib
import glob
import os
import platform
import shutil
import signal
import subprocess
import tempfile

import numpy as np

import levels
from failure import ENVIRONMENT, Failure

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PEERS = os.path.join(ROOT, "build", "peers")


def build_runners(folder):
    """Compiles run_attn, run_ort and run_peak into a folder; their paths by name."""
    os.makedirs(folder, exist_ok=True)
    include = os.path.join(ROOT, "runtime", "include")
    paths = {}
    for source, compiler in (("run_attn.c", "gcc"), ("run_peak.c", "gcc"), ("run_ort.cpp", "g++")):
        name = source.split(".")[0]
        paths[name] = os.path.join(folder, name)
        words = [compiler, "-O2", "-Wall", "-I", include, os.path.join(HERE, source), "-o", paths[name], "-ldl",
                 "-lpthread"]
        if not shutil.which(compiler):
            raise Failure(ENVIRONMENT, f"{compiler} is not installed; tools/setup.sh installs it")
        done = subprocess.run(words, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise Failure(ENVIRONMENT, f"{compiler} could not compile {source}:\n{done.stderr}")
    return paths


def has_tiles():
    """Whether this CPU multiplies bf16 in tile registers (AMX)."""
    with open("/proc/cpuinfo") as file:
        return " amx_bf16" in file.read()


def build_onednn(folder):
    """Compiles run_onednn and run_onednn_model into a folder: their paths by name, or None and why they cannot be had."""
    if not os.path.exists("/usr/include/oneapi/dnnl/dnnl.hpp"):
        return None, "Debian's libdnnl-dev is not installed"
    paths = {name: os.path.join(folder, name) for name in ("run_onednn", "run_onednn_model")}
    for name, path in paths.items():
        words = ["g++", "-O2", "-std=c++17", "-fopenmp", os.path.join(HERE, name + ".cpp"), "-o", path, "-ldnnl"]
        if subprocess.run(words, stderr=subprocess.PIPE, text=True).returncode:
            return None, f"g++ could not compile {name}.cpp with it"
    return paths, None


def input_word(name, dtype, shape, path, offset=0):
    """A tensor on a runner's command line: values of a file from a byte on."""
    return f"{name}={dtype}:{','.join(map(str, shape))}:{path}@{offset}"


def output_word(name, shape):
    return f"{name}={','.join(map(str, shape))}"


def find_onnxruntime():
    """The library of the npm package onnxruntime-node, installed under build/peers where it is not there yet; or None
    and why it cannot be had."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    wanted = os.path.join(PEERS, "node_modules", "onnxruntime-node", "bin", "*", "linux", machine,
                          "libonnxruntime.so*")
    if not glob.glob(wanted):
        if not shutil.which("npm"):
            return None, "npm, which would install it, is not here"
        os.makedirs(PEERS, exist_ok=True)
        words = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", PEERS, "onnxruntime-node"]
        try:
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return None, "npm could not install it within five minutes"
        if done.returncode:
            return None, "npm could not install it"
    found = sorted(glob.glob(wanted))
    return (found[0], None) if found else (None, f"the package has no library for {machine}")


class Engine:
    """A process that runs one model. It is stopped between its turns, so that threads of a pool that wait in a loop
    take no time from the others."""

    def __init__(self, name, words):
        self.name = name
        self.errors = tempfile.TemporaryFile("w+")
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("ATTN_", "OMP_"))}
        environment.update(levels.environment())
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True, env=environment)
        self.facts = dict(word.split("=", 1) for word in self.answer("ready").split())
        self.stop()

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def answer(self, expected):
        """The rest of the next line, which has to begin with a word."""
        line = self.process.stdout.readline()
        word, _, rest = line.strip().partition(" ")
        if word != expected:
            self.process.kill()
            self.process.wait()
            self.errors.seek(0)
            reason = self.errors.read().strip()[-2000:] or f"it ended with {self.process.returncode}"
            self.close()
            raise Failure(ENVIRONMENT, f"{self.name}: {reason}")
        return rest

    def ask(self, command, expected):
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer will say why
        rest = self.answer(expected)
        self.stop()
        return rest

    def run(self, warm, count):
        """Milliseconds of `count` runs after `warm` more."""
        return [float(word) for word in self.ask(f"run {warm} {count}", "ms").split()]

    def output(self, shape):
        """What the last run computed."""
        with tempfile.NamedTemporaryFile() as file:
            self.ask("output " + file.name, "ok")
            return np.fromfile(file.name, np.float32).reshape(shape)

    def peak_memory(self):
        """Bytes: the largest resident size so far."""
        with open(f"/proc/{self.process.pid}/status") as file:
            line = next(line for line in file if line.startswith("VmHWM:"))
        return 1024 * int(line.split()[1])

    def cpu_ticks(self):
        """CPU time so far."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
