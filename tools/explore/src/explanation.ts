// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `attn explain --json` prints, as types (tools/attn/EXPLAIN.md says what each member means).

/** Why something was not done. */
export interface Reason { code: string; message: string; helps?: string[]; at?: string; function?: string }

/** `loops` of a kernel: a loop with what is in it, or an op. */
export interface Loop {
  loop?: string; op?: string; text?: string; trips?: number | null; step?: number; at?: string; flop?: number | null; part?: string;
  body?: Loop[];
}

export type Fact = string | number | boolean | null | Fact[] | { [name: string]: Fact };

export interface Kernel {
  function: string; kernel?: string; at?: string; places?: string[];
  flop?: number; flop_counts?: string; flop_dense?: number; bytes?: number; counted_with?: string;
  text?: string; facts?: { [name: string]: Fact }; reasons?: Reason[]; loops?: Loop[];
  seconds?: number; calls?: number; waiting?: number;
}

/** What an entry or a block runs. */
export interface Step { function: string; calls: number | null; steps?: Step[] }
export interface Entry { name: string; steps: Step[] }

/** The flow of data between the steps of a function. */
export interface FunctionGraph {
  function: string;
  nodes: { id: number; kind: string; function?: string; text?: string; calls?: number | null; at?: string }[];
  edges: [number, number, { bytes?: number; text?: string }?][];
}

export interface Slot {
  slot: string; parameters: { tensor: string; at?: string }[]; precision: string; k: number; columns: number; panel: number;
  layers: number; bytes: number; offset: number; layer_stride: number;
}

/** The workspace of a function: bytes over its steps. */
export interface Workspace {
  function: string; bytes: number;
  buffers: { at?: string; bytes: number; offset: number; from: number; until: number; text?: string }[];
}

export interface Target {
  name: string; kind: string; kernels: Kernel[]; entries: Entry[]; graphs?: FunctionGraph[]; weights: Slot[]; memory: Workspace[];
}

export interface Explanation {
  schema: string; spec: string; sizes: { [dim: string]: number }; sources: { file: string; text: string }[];
  model: { name: string; precision: string; version?: string };
  targets: Target[]; notes: { function: string; at?: string; text: string }[]; reasons: Reason[];
}

/** What `attn verify --json` prints. */
export interface Verification {
  schema: 'attn.verify'; model: string; bound: number; weights: string;
  first_not_numbers: string; first_past_bound: string; first_empty: string;
  results: VerifiedOutput[];
}
export interface VerifiedOutput {
  call: string; entry: string; output: string; shape: number[]; max_abs: number | null; relative_l2: number | null; past_bound: boolean;
  not_numbers: string; remark: string; at: string; min: number | null; max: number | null;
}

/** What `attn diff --json` prints. */
export interface Difference {
  a: string; b: string; changes: Change[]; same: number; only_a: OneSided[]; only_b: OneSided[];
  kernels: { function: string; function_b: string; at?: string; text?: string; changes: Change[]; seconds?: { a: number; b: number } }[];
}
export interface Change { fact: string; a: string; b: string }
export interface OneSided { function: string; at?: string; text?: string }
