// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mask of a kernel as the page can judge it: its formula, what the names in it mean, and the lengths that can be dragged.
import type { Kernel, Shown } from '../data';
import { type Declaration, declarationsOf, type Expression, MaskError, parseExpression } from '../mask/expression';
import { MaskProgram } from '../mask/program';
import { judge, type Tiling } from '../mask/tiles';

/** A length that can be dragged: that of all dims of one size among those of queries and keys. */
export interface Lengths {
  label: string;
  /** Dims, or `queries` and `keys` where these are numbers. */
  names: string[];
  value: number;
  most: number;
}

/** All dims at the sizes that were assumed. */
function dimsOf({ explanation }: Shown): Map<string, number> {
  return new Map([...explanation.model.dims.map(({ name, size }): [string, number] => [name, size]), ...Object.entries(explanation.sizes)]);
}

function namesIn(tree: Expression): string[] {
  return tree.kind === 'name' ? [tree.name] : tree.kind === 'binary' ? [...namesIn(tree.left), ...namesIn(tree.right)] : [];
}

/** A size, an expression of dims, as a number. */
function sizeOf(text: string, dims: Map<string, number>): number {
  const evaluate = (tree: Expression): number => {
    if (tree.kind === 'number')
      return tree.value;
    if (tree.kind === 'name' && dims.has(tree.name))
      return dims.get(tree.name)!;
    if (tree.kind === 'binary') {
      const a = evaluate(tree.left), b = evaluate(tree.right);
      return tree.op === '+' ? a + b : tree.op === '-' ? a - b : tree.op === '*' ? a * b : Math.floor(a / b);
    }
    throw new MaskError(`the size \`${text}\` is not known here`, tree.at);
  };
  return evaluate(parseExpression(text));
}

/** The formulas of both axes' sizes; numbers where the compiler gives none. */
function axesOf({ facts }: Kernel): { queries: string; keys: string } {
  return { queries: facts.formula?.queries ?? String(facts.queries), keys: facts.formula?.keys ?? String(facts.keys) };
}

export function lengthsOf(shown: Shown, kernel: Kernel): Lengths[] {
  const dims = dimsOf(shown), lengths: Lengths[] = [];
  const add = (name: string, value: number) => {
    const same = lengths.find((one) => one.value === value);
    if (same && !same.names.includes(name))
      same.names.push(name), same.label = same.names.join(' = ');
    else if (!same)
      lengths.push({ label: name, names: [name], value, most: Math.max(2048, 2 * value) });
  };
  const axes = axesOf(kernel);
  for (const axis of ['queries', 'keys'] as const) {
    const names = namesIn(parseExpression(axes[axis]));
    for (const name of names)
      add(name, dims.get(name) ?? 1);
    const number = Number(axes[axis]);
    if (names.length === 0 && number > 1)
      add(axis, number);
  }
  return lengths;
}

export class MaskSource {
  /** As the spec writes it, where that means the same here; else with all names put in. */
  readonly text: string;
  readonly tiling: Tiling;
  /** Whether the page judges it as the compiler does: it knows its formula, and the verdicts are the compiler's. */
  readonly isKnown: boolean;
  private readonly declarations: Map<string, Declaration>;

  constructor(private readonly shown: Shown, private readonly kernel: Kernel) {
    this.tiling = kernel.facts.division ?? { keys: Number(kernel.facts.tiles?.[0]?.keys ?? 32) };
    this.declarations = new Map(shown.explanation.sources.flatMap(({ text }) => [...declarationsOf(text)]));
    const words = String(kernel.facts.mask), formula = kernel.facts.formula?.mask ?? words;
    this.text = this.meansTheSame(words) ? words : formula;
    this.isKnown = kernel.facts.formula !== undefined && this.meansTheSame(this.text);
  }

  /** The program of a mask at some lengths. Throws MaskError. */
  at(text: string, lengths: Lengths[]): { program: MaskProgram; queries: number; keys: number } {
    const dims = dimsOf(this.shown);
    for (const { names, value } of lengths)
      for (const name of names)
        dims.set(name, value);
    const axes = axesOf(this.kernel), { formula } = this.kernel.facts;
    const program = new MaskProgram(parseExpression(text), {
      dims, declarations: this.declarations, positions: formula?.positions ?? [],
      dynamic: new Set(Object.keys(this.shown.explanation.sizes)), offset: formula?.query_offset ? sizeOf(formula.query_offset, dims) : 0,
    });
    return { program, queries: dims.get('queries') ?? sizeOf(axes.queries, dims), keys: dims.get('keys') ?? sizeOf(axes.keys, dims) };
  }

  /** Whether these are the lengths that the explanation is for. */
  isMeasuredAt(lengths: Lengths[]): boolean {
    return lengthsOf(this.shown, this.kernel).every(({ value }, at) => lengths[at].value === value);
  }

  /** Whether what the spec writes has the verdicts of the compiler: its names may be those of another place. */
  private meansTheSame(text: string): boolean {
    try {
      const { program, queries, keys } = this.at(text, lengthsOf(this.shown, this.kernel));
      const judged = judge(program, this.tiling, queries, keys), { verdicts } = this.kernel.facts;
      return !verdicts || (judged?.empty === verdicts.empty && judged.full === verdicts.full && judged.tested === verdicts.tested);
    } catch (error) {
      if (error instanceof MaskError)
        return false;
      throw error;
    }
  }
}
