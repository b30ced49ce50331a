// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts of two kernels side by side, and what both sides of a comparison come to as a whole.
import type { Change, Kernel, Target } from '../data';
import { byteText, flopText, timeText } from '../format';
import { flowOf, type Measure, total } from '../model/flow';

/** One side of a comparison. */
export interface Side { label: string; target: Target; isShown: boolean }

/** Lists that are long, and say little in words. */
const long = /_starts$/;

/** Members of a fact as lines: "tiles.columns" and "48". */
function flatten(name: string, fact: unknown, into: Map<string, string>) {
  if (fact === null || typeof fact !== 'object')
    into.set(name, String(fact));
  else if (Array.isArray(fact) && fact.every((own) => own === null || typeof own !== 'object'))
    into.set(name, long.test(name) ? `${fact.length} places` : fact.join(', ') || 'none');
  else if (Array.isArray(fact))
    fact.forEach((own, at) => flatten(at ? `${name}.${at + 1}` : name, own, into));
  else
    for (const [member, own] of Object.entries(fact))
      flatten(`${name}.${member}`, own, into);
}

/** Changes in numbers that have a unit, as people read them. */
const units: { [fact: string]: { name: string; text: (value: number) => string } } = {
  bytes: { name: 'bytes', text: byteText },
  flop_dense: { name: 'operations without a mask', text: flopText },
};

/** A change in words: what, and both values. */
export function changeText({ fact, a, b }: Change): { fact: string; a: string; b: string } {
  const unit = units[fact], text = (value: string) => (unit && /^\d+$/.test(value) ? unit.text(Number(value)) : value);
  return { fact: unit?.name ?? fact, a: text(a), b: text(b) };
}

function factsOf(kernel: Kernel): Map<string, string> {
  const found = new Map<string, string>();
  if (kernel.seconds !== undefined)
    found.set('time of all calls', timeText(kernel.seconds));
  if (kernel.flop !== undefined)
    found.set('operations', flopText(kernel.flop));
  if (kernel.bytes !== undefined)
    found.set('bytes', byteText(kernel.bytes));
  for (const [name, fact] of Object.entries(kernel.facts ?? {}))
    if (name !== 'terms' && name !== 'formula')
      flatten(name, fact, found);
  const codes = kernel.reasons?.map(({ code }) => code) ?? [];
  found.set('reasons', codes.join(', ') || 'none');
  return found;
}

/** Facts of both, in the order of `a`; one that a side lacks is empty there. */
export function sideBySide(a: Kernel, b: Kernel): { fact: string; a: string; b: string }[] {
  const left = factsOf(a), right = factsOf(b);
  return [...new Set([...left.keys(), ...right.keys()])].map((fact) => ({ fact, a: left.get(fact) ?? '', b: right.get(fact) ?? '' }));
}

export interface Quantity { name: string; a: number; b: number; text: (amount: number) => string }

const weightsOf = (target: Target) => target.weights.reduce((sum, slot) => sum + slot.bytes * slot.layers, 0);
const workspaceOf = (target: Target, entry: string) => target.memory.find((own) => own.function === entry)?.bytes ?? 0;

/** What the entries that both sides have come to, and the weights. */
export function quantities(a: Target, b: Target): Quantity[] {
  const found: Quantity[] = [];
  const texts: [Measure, string, (amount: number) => string][] = [['seconds', 'time', timeText], ['flop', 'operations', flopText], ['bytes', 'bytes', byteText]];
  for (const { name } of a.entries) {
    if (!b.entries.some((entry) => entry.name === name))
      continue;
    const flows = { a: flowOf(a, name), b: flowOf(b, name) };
    for (const [measure, what, text] of texts) {
      const own = { a: total(flows.a, measure), b: total(flows.b, measure) };
      if (measure !== 'seconds' || (own.a && own.b))
        found.push({ name: `${what} of ${name}`, ...own, text });
    }
    found.push({ name: `workspace of ${name}`, a: workspaceOf(a, name), b: workspaceOf(b, name), text: byteText });
  }
  found.push({ name: 'packed weights', a: weightsOf(a), b: weightsOf(b), text: byteText });
  return found;
}
