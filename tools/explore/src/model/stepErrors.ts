// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `attn verify --each-tap` found, by steps of the graph: a `let` belongs to the steps that have a part in the op at its
// place; of layers, which share places, each to the block that runs it.
import type { ComparedOutput } from '../data';
import type { Flow } from './flow';

/** How far off a step is: outputs of all its layers, in the order in which they are computed. */
export interface StepErrors { outputs: ComparedOutput[]; worst: number; isNumber: boolean }

/** Relative errors between these have the palest and the strongest colour. */
const faint = 1e-8, strong = 1e-1;

/** 0 to 1, by magnitude. */
export function errorHeat(errors: StepErrors): number {
  if (!errors.isNumber)
    return 1;
  return Math.min(1, Math.max(0, Math.log10(errors.worst / faint) / Math.log10(strong / faint)));
}

/** Whether an output has no infinities and is no NaN. */
export const isNumber = (output: ComparedOutput) => output.relative_l2 !== null && !output.not_numbers;

function add(to: Map<string, StepErrors>, key: string, output: ComparedOutput) {
  const own = to.get(key) ?? { outputs: [], worst: 0, isNumber: true };
  own.outputs.push(output);
  own.worst = Math.max(own.worst, output.relative_l2 ?? 0);
  own.isNumber = own.isNumber && isNumber(output);
  to.set(key, own);
}

/** The steps of one block that have a part in what is computed at a place, and how often that is computed there. */
interface Computed { keys: string[]; times: number }

/** Those of all blocks, in the order in which they run. */
function computedAt(flow: Flow, at: string, times = 1): Computed[] {
  const own = flow.nodes.filter((node) => node.kernel?.places.includes(at)).map((node) => node.key);
  const inside = flow.nodes.flatMap((node) => (node.inside ? computedAt(node.inside, at, times * (node.calls ?? 1)) : []));
  return own.length ? [{ keys: own, times }, ...inside] : inside;
}

/** Errors by keys of nodes; those of a block are of all in it. */
export function errorsOf(flow: Flow, outputs: ComparedOutput[]): Map<string, StepErrors> {
  const found = new Map<string, StepErrors>();
  for (const at of new Set(outputs.map((output) => output.at).filter(Boolean))) {
    const left = outputs.filter((output) => output.at === at); // in the order of layers
    const blocks = computedAt(flow, at);
    for (const [number, { keys, times }] of blocks.entries())
      for (const output of left.splice(0, number + 1 < blocks.length ? times : left.length)) {
        // "/5/2/1" is in "/5/2" and in "/5".
        const all = new Set(keys);
        for (const key of keys)
          for (let around = key.lastIndexOf('/'); around > 0; around = key.lastIndexOf('/', around - 1))
            all.add(key.slice(0, around));
        all.forEach((key) => add(found, key, output));
      }
  }
  return found;
}
