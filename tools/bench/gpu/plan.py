# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What measure.py runs, in which order, and how long each step should take."""

# Seconds of a step on an H100, by its phase and kind: guesses, until one was run on.
SECONDS = {
    "instructions": {"instructions": 15},
    "smoke": {"attention": 1.5, "decoding": 1.5, "linear": 1.5, "vit": 2, "bert": 2, "gpt2": 2},
    "times": {"copy": 1, "attention": 5, "decoding": 5, "linear": 4, "vit": 8, "bert": 8, "gpt2": 10},
    "compiled": {"attention": 15, "decoding": 15, "linear": 10, "vit": 45, "bert": 45, "gpt2": 45},
}
# PyTorch starts with the first step of these.
START = {"times": 8, "compiled": 8}
PHASES = {
    "instructions": "what single PTX instructions compute, to pin the interpreter with",
    "smoke": "every kernel and model, small, each in a process of its own, against NumPy",
    "times": "checked against PyTorch in f32 and timed beside cuDNN, FlashAttention, cuBLAS, PyTorch op by op",
    "compiled": "beside FlexAttention, Triton, JAX, torch.compile",
}


def all_steps(artifacts, only):
    steps = [] if only else [{"phase": "instructions", "kind": "instructions", "name": "instructions"}]
    for phase in ("smoke", "times", "compiled"):
        if phase == "times" and not only:
            steps.append({"phase": phase, "kind": "copy", "name": "copy"})
        for artifact in artifacts:
            if phase not in artifact["phases"] or only not in artifact["name"]:
                continue
            for run, sizes in enumerate(artifact["runs"]):
                name = " ".join([artifact["name"], *(f"{key}={value}" if key != "entry" else value for key, value in sizes.items())])
                steps.append({"phase": phase, "kind": artifact["kind"], "name": name, "artifact": artifact, "run": run})
    return steps


def plan(artifacts, only, seconds):
    """(steps that fit into so many seconds, with `seconds` each; those that do not)."""
    taken, left, total, started = [], [], 0, set()
    for step in all_steps(artifacts, only):
        phase = step["phase"]
        step["seconds"] = SECONDS[phase][step["kind"]] + (START.get(phase, 0) if phase not in started else 0)
        if total + step["seconds"] > seconds:
            left.append(step)
            continue
        started.add(phase)
        total += step["seconds"]
        taken.append(step)
    return taken, left


def describe(taken, left):
    lines, total = [], 0
    for phase, what in PHASES.items():
        own = [step for step in taken if step["phase"] == phase]
        if own:
            lines.append(f"{phase}: {what}; {sum(step['seconds'] for step in own):g} s")
        for step in own:
            total += step["seconds"]
            lines.append(f"  {total:6.1f} s  {step['name']}")
    lines.append(f"planned: {total / 60:.1f} minutes, {len(taken)} steps")
    if left:
        lines.append(f"not planned, with --minutes more: {', '.join(step['phase'] + ' ' + step['name'] for step in left)}")
    return "\n".join(lines)
