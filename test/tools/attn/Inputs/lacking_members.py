# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes out of an explanation one member after the other, or puts a number in its place. `attn diff` takes it or refuses it, and never crashes; those
that EXPLAIN.md does not call optional are refused. Usage: lacking_members.py EXPLANATION FILE"""
import copy
import json
import subprocess
import sys

explanation, file = json.load(open(sys.argv[1])), sys.argv[2]
NEEDED = {"schema", "schema_version", "spec", "model", "sizes", "sources", "notes", "targets", "reasons", "model.name", "model.dims", "model.entries",
          "targets.0.name", "targets.0.kind", "targets.0.kernels", "targets.0.entries", "targets.0.weights", "targets.0.memory",
          "targets.0.kernels.0.function", "targets.0.kernels.0.text", "targets.0.kernels.0.places", "targets.0.kernels.0.facts",
          "targets.0.kernels.0.reasons", "targets.0.entries.0.name", "targets.0.entries.0.steps", "targets.0.weights.0.slot",
          "targets.0.memory.0.buffers", "targets.0.graphs.0.nodes", "targets.0.graphs.0.edges"}


def paths(value, path=()):
    """Of all members, of the first of each list."""
    items = value.items() if isinstance(value, dict) else list(enumerate(value))[:1] if isinstance(value, list) else ()
    for name, own in items:
        yield (*path, name)
        yield from paths(own, (*path, name))


refused = set()
for path in paths(explanation):
    for change in ("take", "number"):
        changed = copy.deepcopy(explanation)
        place = changed
        for name in path[:-1]:
            place = place[name]
        if change == "number":
            place[path[-1]] = 5
        elif isinstance(place, dict):
            del place[path[-1]]
        else:
            continue
        json.dump(changed, open(file, "w"))
        run = subprocess.run(["attn", "diff", file, sys.argv[1]], capture_output=True, text=True)
        assert run.returncode in (0, 1, 2, 3), (path, change, run.stderr)
        if run.returncode == 1:
            assert "neither a spec nor what this" in run.stderr, run.stderr
            if change == "take":
                refused.add(".".join(map(str, path)))
assert NEEDED <= refused, NEEDED - refused
print(len(refused), "objects that lack a member are refused")
