// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the page shows: the JSON of `attn explain` (tools/attn/EXPLAIN.md has the schema), out of the page.

import type { Tiling } from './mask/tiles';

export interface Reason {
  code: string;
  message: string;
  helps?: string[];
  at?: string;
}

/** A part of an attention that works on its scores. */
export type TermName = 'score' | 'bias' | 'cap' | 'mask' | 'weight' | 'values';
export interface Term {
  term: TermName;
  text: string;
  at: string;
}

export interface Formula {
  mask: string;
  query_offset?: string;
  queries: string;
  keys: string;
  positions: string[];
}

export interface Verdicts {
  query_starts: number[];
  key_starts: number[];
  empty: number;
  full: number;
  tested: number;
  pairs: number;
}

export interface Facts {
  kind?: string;
  lowering?: string;
  terms?: Term[];
  formula?: Formula;
  verdicts?: Verdicts;
  tiles?: Record<string, unknown>[];
  division?: Tiling;
  estimates?: { lowering: string; ns?: number; drawback?: string }[];
  [fact: string]: unknown;
}

/** A loop of a kernel with what it does, or something that is done. */
export interface Loop {
  loop?: string;
  op?: string;
  text: string;
  trips?: number | null;
  step?: number;
  at?: string;
  flop?: number | null;
  part?: TermName;
  body?: Loop[];
}

export interface Kernel {
  function: string;
  kernel?: string;
  at?: string;
  places: string[];
  flop?: number;
  flop_counts?: string;
  flop_dense?: number;
  bytes?: number;
  counted_with?: string;
  text: string;
  facts: Facts;
  reasons: Reason[];
  loops?: Loop[];
  seconds?: number;
  calls?: number;
  waiting?: number;
}

export interface Step {
  function: string;
  calls: number | null;
  steps?: Step[];
}

export interface Graph {
  function: string;
  nodes: { id: number; kind: string; function?: string; text?: string; calls?: number | null; weights?: string[] }[];
  edges: [number, number, { bytes?: number; later?: boolean }?][];
}

export interface Run {
  entry: string;
  level: string;
  threads: number;
  minimum_ms: number;
  median_ms: number;
  peak_flop_per_s?: number;
  peak_bytes_per_s?: number;
  sizes: Record<string, number>;
  [member: string]: unknown;
}

export interface Slot {
  slot: string;
  parameters: { tensor: string; at: string }[];
  precision: string;
  k: number;
  columns: number;
  panel: number;
  layers: number;
  bytes: number;
  offset: number;
  layer_stride: number;
}

export interface Frame {
  function: string;
  bytes: number;
  buffers: { offset: number; bytes: number; from: number; until: number; at: string }[];
}

export interface Target {
  name: string;
  kind: 'cpu' | 'gpu';
  kernels: Kernel[];
  entries: { name: string; steps: Step[] }[];
  graphs?: Graph[];
  weights: Slot[];
  memory: Frame[];
  run?: Run;
}

/** What `attn verify --json` printed. */
export interface Comparison {
  model: string;
  file: string;
  bound: number;
  precision?: string;
  first_not_numbers: string;
  first_past_bound: string;
  first_empty: string;
  results: ComparedOutput[];
}
export interface ComparedOutput {
  call: string;
  entry: string;
  output: string;
  /** Of a named intermediate the op that computes it; else empty. */
  at: string;
  shape: number[];
  max_abs: number | null;
  relative_l2: number | null;
  least: number | null;
  greatest: number | null;
  past_bound: boolean;
  not_numbers: string;
  remark: string;
}

export interface Explanation {
  spec: string;
  model: {
    name: string;
    version?: string;
    precision?: string;
    dims: { name: string; size: number; dynamic: boolean }[];
    elements?: number;
    entries: { name: string; inputs: unknown[]; outputs: unknown[] }[];
    [member: string]: unknown;
  };
  sizes: Record<string, number>;
  sources: { file: string; text: string }[];
  notes: { function: string; at: string; text: string }[];
  targets: Target[];
  reasons: Reason[];
  comparisons?: Comparison[];
}

/** What `attn diff --json` printed. */
export interface Difference {
  a: string;
  b: string;
  changes: Change[];
  /** Those of both sides that differ. */
  kernels: { function: string; function_b: string; at: string; text: string; changes: Change[]; seconds?: { a: number; b: number } }[];
  only_a: OneSided[];
  only_b: OneSided[];
  same: number;
}
export interface Change {
  fact: string;
  a: string;
  b: string;
}
export interface OneSided {
  function: string;
  at: string;
  text: string;
}

export interface Data {
  explanations: Explanation[];
  diff: Difference | null;
}

export function readData(): Data {
  return JSON.parse(document.getElementById('attn-data')!.textContent!);
}

/** A target of one of the explanations: what all views but the comparison are of. */
export interface Shown {
  data: Data;
  explanation: Explanation;
  /** Its number among the explanations. */
  index: number;
  target: Target;
  kernels: Map<string, Kernel>;
  /** How often each kernel is called by the shown entry. */
  calls: Map<string, number>;
  entry: string;
}

/** All targets of all explanations, as they are chosen among. */
export function targetsOf(data: Data): { label: string; index: number; target: Target }[] {
  return data.explanations.flatMap((explanation, index) =>
    explanation.targets.map((target) => ({
      label: data.explanations.length > 1 ? `${explanation.spec}, ${target.name}` : target.name, index, target,
    })));
}

/** Adds up how often each kernel is called by steps that run `factor` times. */
export function countCalls(steps: Step[], factor: number, counts: Map<string, number>): void {
  for (const step of steps) {
    const calls = factor * (step.calls ?? 1);
    if (step.steps)
      countCalls(step.steps, calls, counts);
    else
      counts.set(step.function, (counts.get(step.function) ?? 0) + calls);
  }
}

export function show(data: Data, at: number, entry?: string): Shown {
  const { index, target } = targetsOf(data)[at];
  const chosen = target.entries.find(({ name }) => name === (entry ?? target.run?.entry)) ?? target.entries[0];
  const calls = new Map<string, number>();
  countCalls(chosen?.steps ?? [], 1, calls);
  return {
    data, index, target, calls, explanation: data.explanations[index], entry: chosen?.name ?? '',
    kernels: new Map(target.kernels.map((kernel) => [kernel.function, kernel])),
  };
}

/** Operations of all calls of a kernel; undefined where they are not known. */
export function flopOf(shown: Shown, kernel: Kernel): number | undefined {
  return kernel.flop === undefined ? undefined : kernel.flop * (shown.calls.get(kernel.function) ?? 0);
}

/** What kernels are ordered by: seconds where there was a run of the entry, else operations. */
export function weightOf(shown: Shown, kernel: Kernel): number {
  return isTimed(shown) ? kernel.seconds ?? 0 : flopOf(shown, kernel) ?? 0;
}
export function isTimed(shown: Shown): boolean {
  return shown.target.run !== undefined && shown.target.run.entry === shown.entry;
}

/** The kernels of the entry, those that take most first. */
export function worstFirst(shown: Shown): Kernel[] {
  return shown.target.kernels.filter((kernel) => shown.calls.has(kernel.function))
    .sort((a, b) => weightOf(shown, b) - weightOf(shown, a));
}

export interface Instruction {
  text?: string;
  label?: string;
  at?: string;
  part?: TermName;
}

/** The machine code of a kernel; none where the page has none, as of GPUs. */
export async function codeOf(shown: Shown, name: string): Promise<Instruction[]> {
  const script = [...document.querySelectorAll<HTMLScriptElement>('script.attn-code')].find(({ dataset }) =>
    Number(dataset.explanation) === shown.index && dataset.target === shown.target.name && dataset.function === name);
  if (!script)
    return [];
  const bytes = Uint8Array.from(atob(script.textContent!), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}

/** Where the page of a kernel is. */
export function kernelAddress(name: string): string {
  return `#kernels/${encodeURIComponent(name)}`;
}

/** File and line of a place, `std/nn.attn:12:5`. */
export function placeOf(at: string): { file: string; line: number; column: number } | undefined {
  const found = /^(.*):(\d+):(\d+)$/.exec(at);
  return found ? { file: found[1], line: Number(found[2]), column: Number(found[3]) } : undefined;
}

/** The line of a spec that a place is in, without spaces around it. */
export function lineAt(explanation: Explanation, at: string): string {
  const place = placeOf(at);
  const source = explanation.sources.find(({ file }) => file === place?.file);
  return (place && source?.text.split('\n')[place.line - 1]?.trim()) ?? '';
}

/** What of the spec stands at a place: a name, with what it is applied to in parentheses. */
export function termAt(explanation: Explanation, at: string): string {
  const place = placeOf(at), source = explanation.sources.find(({ file }) => file === place?.file);
  const rest = (place && source?.text.split('\n')[place.line - 1]?.slice(Math.max(0, place.column - 1))) ?? '';
  if (place?.column === 0) // of the line as a whole
    return rest.trim();
  const name = /^[\w.]+|^\S+/.exec(rest)?.[0] ?? '';
  if (rest[name.length] !== '(')
    return name === 'attend' || name === 'return' ? rest.trim() : name;
  let depth = 0, end = name.length;
  do {
    const letter = rest[end++];
    depth += letter === '(' ? 1 : letter === ')' ? -1 : 0;
  } while (depth > 0 && end < rest.length);
  return rest.slice(0, end);
}
