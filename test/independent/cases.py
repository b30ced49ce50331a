# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A case: a spec with what it is run on. It is compiled and compared in a process of its own, which may crash."""
import json
import os
import traceback

import numpy as np

from comparison import Difference, compare, expected
from compiled import Failed, Library, compile_spec
from evaluator import Model
from lexer import SyntaxProblem
from plans import Planner
from sizes import Problem
from weights import Checkpoint, Drawn, write_checkpoint


class Case:
    def __init__(self, spec, ranges=None, weights=None, config=None, settings=None, plans=2, dtypes=("F32",), largest=24):
        self.spec, self.ranges, self.weights, self.config = spec, ranges or {}, weights, config
        self.settings, self.plans, self.dtypes, self.largest = settings or {}, plans, dtypes, largest

    def in_folder(self, folder, seed):
        self.folder, self.seed = folder, seed
        return self

    def prepare(self):
        """Draws inputs and weights, and evaluates: the plans with what is right. Writes the checkpoint."""
        config = json.load(open(self.config)) if self.config else None
        drawn = Checkpoint(self.weights) if self.weights else Drawn(self.seed, self.dtypes)
        model = Model(self.spec, drawn, config, self.settings)
        for attempt in range(5):
            planner = Planner(model, np.random.default_rng([self.seed, 77, attempt]), self.ranges, self.largest)
            plans = planner.plan(self.plans)
            answers = [expected(model, steps) for steps in plans]
            if not any(fragile for _, fragile in answers):
                break
        self.is_fragile = any(fragile for _, fragile in answers)
        if not self.weights:
            self.weights = os.path.join(self.folder, "weights.safetensors")
            write_checkpoint(self.weights, drawn.made)
        return [(steps, wanted) for steps, (wanted, fragile) in zip(plans, answers) if not fragile]

    def run(self, configurations, attn, optimised):
        plans = self.prepare()
        flags = [f"-O{optimised}"]
        flags += ["--config", self.config] if self.config else []
        for name, value in self.settings.items():
            flags += ["--set", f"{name}={value}"]
        for n, (level, lowering) in enumerate(configurations):
            path = os.path.join(self.folder, f"model{n}.so")
            compile_spec(attn, self.spec, path, level, lowering, flags)
            library = Library(path, self.weights)
            for steps, wanted in plans:
                try:
                    compare(library, steps, wanted)
                except (Difference, Failed) as problem:
                    raise Difference(f"{level}, {lowering}: {problem}")


def isolated(make, folder, configurations, attn, optimised):
    """Runs a case in a child: None, or what is wrong."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        problem = ""
        try:
            with np.errstate(all="ignore"):
                make(folder).run(configurations, attn, optimised)
        except (Difference, Failed) as error:
            problem = str(error)
        except (Problem, SyntaxProblem) as error:
            problem = f"the evaluator says: {error}"
        except BaseException:
            problem = traceback.format_exc()
        os.write(writer, problem.encode()[:60000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        problem = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"a crash, signal {os.WTERMSIG(status)} {problem}"
    return problem or None
