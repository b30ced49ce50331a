// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `attn verify --each-tap` found, by steps of the graph: a `let` belongs to the step that computes the op at its place.
import type { ComparedOutput } from '../data';
import { allNodes, type Flow } from './flow';

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

/** Errors by keys of nodes; those of a block are of all in it. */
export function errorsOf(flow: Flow, outputs: ComparedOutput[]): Map<string, StepErrors> {
  const found = new Map<string, StepErrors>();
  const kernels = [...allNodes(flow)].filter((node) => node.kernel);
  for (const output of outputs) {
    if (!output.at)
      continue;
    const node = kernels.find((own) => own.kernel!.at === output.at) ??
        kernels.find((own) => own.kernel!.places?.includes(output.at!));
    if (!node)
      continue;
    // "/5/2/1" is in "/5/2" and in "/5".
    for (let key = node.key; key; key = key.slice(0, key.lastIndexOf('/')))
      add(found, key, output);
  }
  return found;
}
