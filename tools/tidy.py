#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs clang-tidy over the sources that changed, or over all of them (--full).

Changed is what differs from the branch point with main, from the last commit where the branch is main itself, and what is
not committed; without history (a shallow clone) only the last. A changed header stands for its .cpp and, without one, for a
source that includes it. A source that passed is not looked at again before it, a header of it or .clang-tidy changes.
Without --full, at most --seconds are spent; what is left over is named and is for --full.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
PASSED = BUILD / "tidy"
TIDY = "clang-tidy-22"


def git(*arguments):
    """The lines that git prints; none where it fails."""
    result = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return result.stdout.split("\n")[:-1] if result.returncode == 0 else []


def changed_files():
    """Paths, relative to the root, of the files that differ from where this work began."""
    head = git("rev-parse", "HEAD")
    base = git("merge-base", "HEAD", "main") or git("merge-base", "HEAD", "origin/main")
    if not base or base == head:
        base = git("rev-parse", "-q", "--verify", "HEAD~1")
    paths = git("diff", "--name-only", "HEAD") + git("ls-files", "--others", "--exclude-standard")
    for commit in base:
        paths += git("diff", "--name-only", commit)
    return sorted(set(path for path in paths if (ROOT / path).exists()))


def source_of(header, sources):
    """The source that stands for a header, or None."""
    own = str(pathlib.Path(header).with_suffix(".cpp"))
    if own in sources:
        return own
    include = re.compile(r'^#include ".*\b' + re.escape(pathlib.Path(header).name) + '"', re.MULTILINE)
    return next((s for s in sources if include.search((ROOT / s).read_text(errors="replace"))), None)


def select(sources):
    """The sources among `sources` that changed, or stand for headers that did."""
    selected = set()
    for path in changed_files():
        source = path if path in sources else source_of(path, sources) if path.endswith(".h") else None
        if source:
            selected.add(source)
    return sorted(selected)


def sources_of(path):
    """The source that a command compiles, or those that it compiles at once."""
    if "Unity" not in path.parts:
        return [path]
    return [pathlib.Path(s) for s in re.findall(r'^#include "(.*\.cpp)"', path.read_text(), re.MULTILINE)]


def read_commands():
    """The command for each source of the tree. Those that are compiled at once each get one of their own."""
    entries = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        for path in sources_of(pathlib.Path(entry["file"])):
            if path.is_relative_to(ROOT) and not path.is_relative_to(BUILD):
                command = entry["command"].replace(entry["file"], str(path))
                # The first command counts: fuzzers compile sources again, by headers that are built later.
                entries.setdefault(str(path.relative_to(ROOT)), {**entry, "file": str(path), "command": command})
    return entries


def digest(entry):
    """Of all that clang-tidy sees of a source: text after preprocessing, with comments, command and checks."""
    command = shlex.split(entry["command"])
    if os.path.basename(command[0]) == "ccache":
        command = command[1:]
    out = command.index("-o")
    command[out : out + 2] = []
    result = subprocess.run([*command, "-E", "-CC"], cwd=entry["directory"], capture_output=True)
    checks = (ROOT / ".clang-tidy").read_bytes()
    return hashlib.sha256(b"\0".join([entry["command"].encode(), checks, result.stdout])).hexdigest()


class Run:
    """One run over some sources: progress on stderr, findings on stdout."""

    def __init__(self, total, deadline):
        self.total, self.deadline = total, deadline
        self.done, self.failed, self.skipped = 0, [], []
        self.lock = threading.Lock()

    def check(self, source, entry):
        if time.monotonic() > self.deadline:
            with self.lock:
                self.skipped.append(source)
            return
        stamp = PASSED / (source.replace("/", "-") + ".passed")
        key = digest(entry)
        output, good = "", stamp.exists() and stamp.read_text() == key
        if not good:
            command = [TIDY, "-p", str(PASSED), "--quiet", source]
            result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            good, output = result.returncode == 0, result.stdout.replace(f"{ROOT}/", "")
            if not good and not output:
                output = result.stderr
            if good:
                stamp.write_text(key)
        self.report(source, good, output)

    def report(self, source, good, output):
        with self.lock:
            self.done += 1
            if not good:
                self.failed.append(source)
                print(output.rstrip("\n"), flush=True)
            if sys.stderr.isatty():
                print(f"\r\033[Kclang-tidy {self.done}/{self.total} {source}", end="", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", metavar="PATH", help="folders or sources to check instead of what changed")
    parser.add_argument("--full", action="store_true", help="every source, however long it takes")
    parser.add_argument("--seconds", type=int, default=120, help="the most to spend without --full (120)")
    parser.add_argument("--list", action="store_true", help="print what would be checked and end")
    options = parser.parse_args()

    entries = read_commands()
    if options.paths:
        chosen = sorted(s for s in entries if any(pathlib.Path(s).is_relative_to(p) for p in options.paths))
    else:
        chosen = sorted(entries) if options.full else select(entries)
    if options.list:
        print("\n".join(chosen))
        return 0
    PASSED.mkdir(exist_ok=True)
    (PASSED / "compile_commands.json").write_text(json.dumps(list(entries.values())))
    run = Run(len(chosen), float("inf") if options.full or options.paths else time.monotonic() + options.seconds)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for job in [pool.submit(run.check, source, entries[source]) for source in chosen]:
            job.result()
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if run.skipped:
        print(f"clang-tidy: {len(run.skipped)} sources left for --full after {options.seconds} s: {' '.join(sorted(run.skipped))}")
    if options.full:
        print("\n".join(f"{source}: {'FINDINGS' if source in run.failed else 'clean'}" for source in chosen))
    elif run.failed:
        print("\n".join(f"clang-tidy: FAILED {source}" for source in sorted(run.failed)))
    print(f"clang-tidy: {run.done - len(run.failed)} of {run.done} sources without findings")
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
