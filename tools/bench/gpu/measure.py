#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks and times compiled models on a GPU, beside what else is there. build.py makes the folder that this lies in.

    python3 measure.py [--plan] [--minutes 8] [--only TEXT] [--out FOLDER]

First come single instructions, then every kernel and model at a small size, each in a process of its own, against NumPy; then real sizes, checked
against PyTorch in f32 and timed beside libraries; then beside compilers, until the time is over. --plan says what would run, and starts nothing.

A process that does not end is killed. What is of its kind is not started again, and the same with a watchdog says where it hung. Results are in
results.md and results.json, anew after each step. Errors are relative L2; repeated runs must give the same bits. Times are medians of rounds in which
all contestants take turns, by CUDA events; short calls are in CUDA graphs of 20, on all sides.

--dry-run does all of it on the interpreter of PTX that ATTN_CUDA_PATH names, with NumPy in the place of PyTorch: it proves this program, and no time.
"""
import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

from plan import describe, plan
from report import is_good, report, save

HERE = Path(__file__).resolve().parent


class Worker:
    """A process of work.py."""

    def __init__(self, steps, uses_torch):
        command = [sys.executable, str(HERE / "work.py")] + ["--torch"] * uses_torch + [json.dumps(steps)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines, self.errors = queue.Queue(), []
        threading.Thread(target=self.read, daemon=True).start()
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()

    def read(self):
        for text in self.process.stdout:
            try:
                line = json.loads(text)
            except ValueError:
                continue  # a library's own words
            if isinstance(line, dict):
                self.lines.put(line)
        self.lines.put(None)

    def next(self, seconds):
        """The next line; None where the process ended; raises queue.Empty after so many seconds."""
        return self.lines.get(timeout=max(seconds, 0.1))

    def kill(self):
        """It may stay, where the driver does not let it go: it is not waited for."""
        self.process.kill()

    def ending(self):
        try:
            code = self.process.wait(5)
        except subprocess.TimeoutExpired:
            return "its process does not end"
        words = "".join(self.errors).strip().splitlines()
        return f"its process ended with {code}" + (f": {words[-1]}" if words else "")


class Measurement:
    def __init__(self, args):
        self.args, self.hung = args, set()
        self.deadline = time.monotonic() + 60 * args.minutes
        self.state = {"about": {}, "clocks": {}, "lines": [], "instructions": []}

    def note(self, step, line):
        line = {"phase": step["phase"], "kind": step["kind"], "name": step["name"], **line}
        self.state["lines"].append(line)
        bad = "problem" in line or not all(result.get("good", True) and result.get("same_bits", True) for result in line["results"])
        print(f"{step['phase']} {step['name']}: {'failed' if 'problem' in line else 'wrong' if bad else 'done'}", file=sys.stderr)
        save(self.args.out, self.state)

    def left(self):
        return self.deadline - time.monotonic()

    def alone(self, step):
        """A step in a process of its own: its line, and whether it hung."""
        worker = Worker([step], False)
        try:
            end = time.monotonic() + min(self.args.limit, self.left())
            while (line := worker.next(end - time.monotonic())) is not None:
                if "nothing" in line:
                    return {"problem": line["nothing"]}, False
                if "about" in line:
                    self.state["about"] |= line["about"]
                    continue
                worker.ending()
                return line, False
            return {"problem": worker.ending()}, False
        except queue.Empty:
            worker.kill()
            hangs = self.left() > 0
            return {"problem": f"it hung: killed after {self.args.limit:g} s" if hangs else "there was no time left for it"}, hangs

    def smoke(self, steps):
        for step in steps:
            if self.skips(step):
                continue
            line, hangs = self.alone(step)
            if hangs:
                self.hung.add(step["kind"])
                if step["artifact"].get("watched"):
                    watched, _ = self.alone({**step, "file": "watched"})
                    line["watchdog"] = "with a watchdog: " + watched.get("problem", "it did not hang")
            self.note(step, line)

    def skips(self, step):
        why = f"a kernel of {step['kind']} hung before" if step["kind"] in self.hung else "there was no time left for it" if self.left() <= 0 else None
        if why:
            self.note(step, {"problem": why})
        return bool(why)

    def together(self, steps):
        """Steps in one process, and in another behind one that failed."""
        while steps:
            steps = [step for step in steps if not self.skips(step)]
            if not steps:
                return
            worker, at, limit = Worker(steps, not self.args.dry_run), 0, self.args.limit + 3 * steps[0]["seconds"]
            try:
                while at < len(steps):
                    line = worker.next(min(limit, self.left()))
                    if line is None or "nothing" in line:
                        line = {"problem": line["nothing"] if line else worker.ending()}
                    if "about" in line:
                        self.state["about"] |= line["about"]
                        continue
                    self.note(steps[at], line)
                    at += 1
                    if "problem" in line:
                        break
                    limit = self.args.limit + 3 * (steps[at]["seconds"] if at < len(steps) else 0)
            except queue.Empty:
                worker.kill()
                if self.left() > 0:
                    self.hung.add(steps[at]["kind"])
                self.note(steps[at], {"problem": "it hung: killed" if self.left() > 0 else "there was no time left for it"})
                at += 1
            steps = steps[at:]

    def record_instructions(self):
        """What single PTX instructions compute here, for instructions.py compare; what it says."""
        command = [sys.executable, str(HERE / "instructions.py"), "record", str(self.args.out / "instructions.npz")]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=2 * self.args.limit)
            self.state["instructions"] = (done.stdout + done.stderr).strip().splitlines() or [f"ended with {done.returncode}"]
        except (OSError, subprocess.TimeoutExpired) as error:
            self.state["instructions"] = [str(error)]

    def run(self, steps):
        for phase in ("instructions", "smoke", "times", "compiled"):
            own = [step for step in steps if step["phase"] == phase]
            if not own:
                continue
            with Clocks(self.args.dry_run) as clocks:
                if phase == "instructions":
                    self.record_instructions()
                elif phase == "smoke":
                    self.smoke(own)
                else:
                    self.together(own)
            self.state["clocks"] |= {f"{phase}, clocks": clocks.text()} if clocks.text() else {}
            save(self.args.out, self.state)


class Clocks:
    """Clocks and power of GPU 0, twice a second, and why clocks were lowered."""

    FIELDS = "clocks.sm,clocks.mem,power.draw,temperature.gpu,clocks_throttle_reasons.active"
    IDLE = 1  # a reason that is none

    def __init__(self, is_dry):
        self.is_dry, self.process, self.rows = is_dry, None, []

    def __enter__(self):
        if not self.is_dry:
            try:
                command = ["nvidia-smi", "-i", "0", f"--query-gpu={self.FIELDS}", "--format=csv,noheader,nounits", "-lms", "500"]
                self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                threading.Thread(target=lambda: self.rows.extend(self.process.stdout), daemon=True).start()
            except OSError:
                pass  # the report has no clocks then
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()

    def text(self):
        seen = []
        for row in self.rows:
            try:
                *numbers, reasons = row.strip().split(", ")
                seen.append([*map(float, numbers), int(reasons, 16)])
            except ValueError:
                continue
        if not seen:
            return ""
        sm, memory, power, heat, reasons = zip(*seen)
        lowered = sum(bool(own & ~self.IDLE) for own in reasons)
        return (f"SM {min(sm):g} to {max(sm):g} MHz, memory {max(memory):g} MHz, at most {max(power):g} W and {max(heat):g} C; "
                f"lowered in {lowered} of {len(seen)} samples (reasons {hex(max(own & ~self.IDLE for own in reasons))})")


def driver_version():
    try:
        done = subprocess.run(["nvidia-smi", "-i", "0", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True, timeout=20)
        return done.stdout.strip() or done.stderr.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", action="store_true", help="print what would run, and how long it should take")
    parser.add_argument("--minutes", type=float, default=8, help="in all (8)")
    parser.add_argument("--limit", type=float, default=30, metavar="SECONDS", help="of a small step, until it counts as hung (30)")
    parser.add_argument("--only", default="", metavar="TEXT", help="artifacts whose name holds this")
    parser.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    steps, left = plan(json.loads((HERE / "artifacts.json").read_text()), args.only, 60 * args.minutes)
    if args.plan:
        print(describe(steps, left))
        return
    if args.dry_run and not os.path.exists(os.environ.get("ATTN_CUDA_PATH", "")):
        sys.exit("ATTN_CUDA_PATH names no interpreter of PTX")
    args.out.mkdir(parents=True, exist_ok=True)
    measurement = Measurement(args)
    if not args.dry_run:
        measurement.state["about"]["driver"] = driver_version()
    measurement.run(steps)
    for step in left:
        measurement.note(step, {"problem": "not planned: --minutes more"})
    print(report(measurement.state))
    sys.stdout.flush()
    os._exit(0 if is_good(measurement.state) else 1)  # a process that does not die holds nothing up


main()
