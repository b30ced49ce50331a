// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask to a program that says of a tile of pairs whether the mask empties it, by interval arithmetic: the rules of the
// compiler (compiler/transforms/MaskIntervals.cpp), so that the page's verdicts are the compiler's.
import { type Declaration, type Expression, MaskError } from './expression';

export type Verdict = 'empty' | 'full' | 'tested';

/** What the names of a mask mean. */
export interface MaskNames {
  /** Positions beside `i` and `j`: those of batch and heads, at whose first the mask is judged. */
  positions: string[];
  /** Sizes of dims, and which of them are known only when running: the compiler knows less of these. */
  dims: Map<string, number>;
  dynamic: Set<string>;
  /** What `i` has in front of the row of a query. */
  offset: number;
  declarations: Map<string, Declaration>;
}

/**
 * A value of the program. A number is known without a pair; a whole number is a position or is computed of such; a real is
 * an f32. `slot` is where its bounds stand. `isKnown`: whether there are bounds at all. `key` tells equal values, `number` is
 * that of a constant, `from` what it was computed by.
 */
type Value =
  | { kind: 'number'; value: number }
  | { kind: 'whole' | 'real' | 'truth'; slot: number; key: string; isKnown: boolean; number?: number; quotientOf?: number; from?: From };
type Computed = Exclude<Value, { kind: 'number' }>;
interface From {
  op: string;
  operands: Computed[];
}
type Bounds = (lo: Float64Array, hi: Float64Array) => void;

const round = Math.fround;
const functions = new Map<string, (x: number) => number>([
  ['sqrt', Math.sqrt], ['rsqrt', (x) => 1 / Math.sqrt(x)], ['exp', Math.exp], ['log', Math.log], ['sin', Math.sin],
  ['cos', Math.cos], ['tanh', Math.tanh], ['floor', Math.floor], ['abs', Math.abs],
]);

export class MaskProgram {
  private readonly steps: Bounds[] = [];
  private readonly made = new Map<string, Computed>();
  private readonly applied: string[] = [];
  private readonly result: Computed;
  private readonly row: Computed;
  private readonly column: Computed;
  private slots = 0;
  private lo = new Float64Array(0);
  private hi = new Float64Array(0);
  /** `n` of `floor(i / n)`, where the mask asks for one such alone: it may change at multiples of it. */
  period?: number;
  private isPeriodOne = true;

  /** Throws MaskError. */
  constructor(tree: Expression, private readonly names: MaskNames) {
    this.row = this.place('whole', 'row');
    this.column = this.place('whole', 'j');
    this.result = this.truthOf(this.evaluate(tree, this.pairNames()), tree);
    if (!this.isPeriodOne)
      this.period = undefined;
    this.lo = new Float64Array(this.slots);
    this.hi = new Float64Array(this.slots);
    this.setConstants();
  }

  /** What the bounds say of queries [from, to) and keys [first, last), by their rows in this call. */
  judge(from: number, to: number, first: number, last: number): Verdict {
    const { lo, hi } = this;
    lo[this.row.slot] = from, hi[this.row.slot] = to - 1;
    lo[this.column.slot] = first, hi[this.column.slot] = last - 1;
    for (const step of this.steps)
      step(lo, hi);
    return hi[this.result.slot] === 0 ? 'empty' : lo[this.result.slot] === 1 ? 'full' : 'tested';
  }

  /** Whether one pair is live; undefined where a function stands in the mask of which bounds are not known. */
  isLive(query: number, key: number): boolean | undefined {
    const verdict = this.judge(query, query + 1, key, key + 1);
    return verdict === 'tested' ? undefined : verdict === 'full';
  }

  //===-- values ---------------------------------------------------------------------------===//

  private constants: [slot: number, value: number][] = [];

  private setConstants(): void {
    for (const [slot, value] of this.constants)
      this.lo[slot] = this.hi[slot] = value;
  }

  private place(kind: Computed['kind'], key: string): Computed {
    const value: Computed = { kind, slot: this.slots++, key, isKnown: true };
    this.made.set(`${kind} ${key}`, value);
    return value;
  }

  private constant(kind: Computed['kind'], value: number): Computed {
    const key = String(value), known = this.made.get(`${kind} ${key}`);
    if (known)
      return known;
    const made = this.place(kind, key);
    made.number = value;
    this.constants.push([made.slot, value]);
    return made;
  }

  /** A size that is known only when running: nothing is simplified by it. */
  private size(name: string, value: number): Computed {
    const known = this.made.get(`whole ${name}`);
    if (known)
      return known;
    const made = this.place('whole', name);
    this.constants.push([made.slot, value]);
    return made;
  }

  /** A value that `bounds` computes of `operands`; of the same operands once. */
  private compute(kind: Computed['kind'], name: string, operands: Computed[], bounds: (slot: number) => Bounds,
                  isKnown = operands.every((operand) => operand.isKnown)): Computed {
    const key = `${name}(${operands.map((operand) => operand.key).join(',')})`;
    const known = this.made.get(`${kind} ${key}`);
    if (known)
      return known;
    const value = this.place(kind, key);
    value.from = { op: name, operands };
    if (isKnown) {
      this.steps.push(bounds(value.slot));
    } else if (kind === 'truth') { // may be either
      const { slot } = value;
      this.steps.push((lo, hi) => { lo[slot] = 0, hi[slot] = 1; });
    } else {
      value.isKnown = false;
    }
    return value;
  }

  private whole(value: Value): Computed {
    return value.kind === 'number' ? this.constant('whole', value.value) : value;
  }
  private real(value: Value): Computed {
    if (value.kind === 'number')
      return this.constant('real', round(value.value));
    if (value.kind === 'real')
      return value;
    const { slot: x } = value;
    return this.compute('real', 'real', [value], (slot) => (lo, hi) => {
      lo[slot] = round(lo[x]), hi[slot] = round(hi[x]);
    });
  }
  private truthOf(value: Value, tree: Expression): Computed {
    if (value.kind !== 'truth')
      throw new MaskError('this is a number, but a mask is a truth value: compare it with another', tree.at);
    return value;
  }
  private static isWhole(value: Value): boolean {
    return value.kind === 'whole' ||
        (value.kind === 'number' && Math.abs(value.value) < 2 ** 30 && Number.isInteger(value.value));
  }

  //===-- names ----------------------------------------------------------------------------===//

  private pairNames(): Map<string, Value> {
    const names = new Map<string, Value>();
    const { offset } = this.names;
    names.set('i', offset === 0 ? this.row : this.sum(this.constant('whole', offset), this.row));
    names.set('i.row', this.row);
    names.set('j', this.column), names.set('j.row', this.column);
    for (const position of this.names.positions)
      if (!names.has(position))
        names.set(position, this.constant('whole', 0));
    return names;
  }

  private named(tree: Expression & { name: string }, names: Map<string, Value>): Value {
    const found = names.get(tree.name);
    if (found)
      return found;
    const size = this.names.dims.get(tree.name);
    if (size !== undefined)
      return this.names.dynamic.has(tree.name) ? this.size(tree.name, size) : { kind: 'number', value: size };
    return this.applyMask(tree, names, [], new Map());
  }

  /** A mask that is applied by its name. */
  private applyMask(tree: Expression & { name: string }, names: Map<string, Value>, given: Expression[],
                    named: Map<string, Expression>): Value {
    const number = (expression: Expression): number => {
      const value = this.evaluate(expression, names);
      if (value.kind !== 'number')
        throw new MaskError('this has to be a number that depends on no pair', expression.at);
      return value.value;
    };
    const statics = [...given.map(number)];
    const { i, j } = { i: names.get('i')!, j: names.get('j')! };
    if (tree.name === 'causal')
      return this.compare('<=', j, i);
    const declaration = this.names.declarations.get(tree.name);
    const order = tree.name === 'window' ? ['left', 'right'] : declaration?.statics.map((one) => one.name);
    if (!order)
      throw new MaskError(`there is no position, dim or mask \`${tree.name}\` here`, tree.at);
    const value = (name: string, at: number): number => {
      const byName = named.get(name), byDefault = declaration?.statics[at]?.value;
      if (byName)
        return number(byName);
      if (at < statics.length)
        return statics[at];
      if (byDefault)
        return number(byDefault);
      throw new MaskError(`\`${tree.name}\` lacks its number \`${name}\`: write \`${tree.name}(${order.join(', ')})\``, tree.at);
    };
    if (statics.length > order.length)
      throw new MaskError(`\`${tree.name}\` takes ${order.length} numbers, not ${statics.length}`, tree.at);
    for (const name of named.keys())
      if (!order.includes(name))
        throw new MaskError(`\`${tree.name}\` has no number \`${name}\``, tree.at);
    const numbers = order.map((name, at): [string, Value] => [name, { kind: 'number', value: value(name, at) }]);
    if (!declaration) {
      const [left, right] = numbers.map(([, one]) => one);
      return this.connect('and', this.truthOf(this.compare('<=', this.arithmetic('-', i, left), j), tree),
                          this.truthOf(this.compare('<=', j, this.arithmetic('+', i, right)), tree));
    }
    if (this.applied.includes(tree.name))
      throw new MaskError(`\`${tree.name}\` names itself`, tree.at);
    this.applied.push(tree.name);
    const inside = new Map([...this.pairNames(), ...numbers]);
    const result = this.evaluate(declaration.body, inside);
    this.applied.pop();
    return result;
  }

  //===-- expressions ----------------------------------------------------------------------===//

  private evaluate(tree: Expression, names: Map<string, Value>): Value {
    switch (tree.kind) {
      case 'number':
        return { kind: 'number', value: tree.value };
      case 'truth':
        return this.constant('truth', Number(tree.value));
      case 'name':
        return this.named(tree, names);
      case 'element':
        throw new MaskError(`\`${tree.name}\` is a tensor of the run: tiles are judged when running`, tree.at);
      case 'call':
        return this.call(tree, names);
      case 'if':
        return this.choice(tree, names);
      case 'unary': {
        const operand = this.evaluate(tree.operand, names);
        if (tree.op === 'not')
          return this.not(this.truthOf(operand, tree.operand));
        if (operand.kind === 'real') // of a negated f32 the compiler knows no bounds
          return this.compute('real', 'negate', [operand], () => () => {}, false);
        return this.arithmetic('-', { kind: 'number', value: 0 }, this.numberOf(operand, tree.operand));
      }
      case 'binary': {
        const left = this.evaluate(tree.left, names), right = this.evaluate(tree.right, names);
        if (tree.op === 'and' || tree.op === 'or')
          return this.connect(tree.op, this.truthOf(left, tree.left), this.truthOf(right, tree.right));
        this.numberOf(left, tree.left), this.numberOf(right, tree.right);
        if (['==', '!=', '<', '<=', '>', '>='].includes(tree.op))
          return this.compare(tree.op, left, right);
        if (tree.op === '/' && right.kind === 'number' && right.value === 0)
          throw new MaskError('this divides by 0', tree.right.at);
        if (tree.op === '%' && !(MaskProgram.isWhole(left) && right.kind === 'number' && right.value > 0 && MaskProgram.isWhole(right)))
          throw new MaskError('`%` takes a position and a positive whole number', tree.at);
        return this.arithmetic(tree.op, left, right);
      }
    }
  }

  private numberOf(value: Value, tree: Expression): Value {
    if (value.kind === 'truth')
      throw new MaskError('truth values cannot be calculated with', tree.at);
    return value;
  }

  private call(tree: Expression & { kind: 'call' }, names: Map<string, Value>): Value {
    const isExtremum = ['min', 'max', 'clamp'].includes(tree.name);
    if (!isExtremum && !functions.has(tree.name))
      return this.applyMask(tree, names, tree.arguments, tree.named);
    const values = tree.arguments.map((argument) => this.numberOf(this.evaluate(argument, names), argument));
    const wanted = tree.name === 'clamp' ? 3 : isExtremum ? 2 : 1;
    if (values.length !== wanted || tree.named.size > 0)
      throw new MaskError(`\`${tree.name}\` takes ${wanted === 1 ? 'one number' : `${wanted} numbers`}`, tree.at);
    if (tree.name === 'clamp')
      return this.arithmetic('min', this.arithmetic('max', values[0], values[1]), values[2]);
    if (isExtremum)
      return this.arithmetic(tree.name, values[0], values[1]);
    const [x] = values;
    if (x.kind === 'number')
      return { kind: 'number', value: functions.get(tree.name)!(x.value) };
    if (x.kind === 'whole' && tree.name === 'floor')
      return x;
    if (x.kind === 'whole' && tree.name === 'abs')
      return this.compute('whole', 'abs', [x], (slot) => (lo, hi) => {
        const a = lo[x.slot], b = hi[x.slot];
        lo[slot] = Math.max(a, -b, 0), hi[slot] = Math.max(b, -a);
      });
    const of = this.real(x);
    if (tree.name !== 'floor') // of which the compiler knows no bounds
      return this.compute('real', tree.name, [of], () => () => {}, false);
    const floor = (slot: number): Bounds => (lo, hi) => {
      lo[slot] = Math.floor(lo[of.slot]), hi[slot] = Math.floor(hi[of.slot]);
    };
    if (x.kind !== 'real' || x.quotientOf === undefined)
      return this.compute('real', 'floor', [of], floor);
    return this.compute('whole', 'floor', [of], floor);
  }

  private choice(tree: Expression & { kind: 'if' }, names: Map<string, Value>): Value {
    const condition = this.truthOf(this.evaluate(tree.condition, names), tree.condition);
    const yes = this.evaluate(tree.yes, names), no = this.evaluate(tree.no, names);
    if ((yes.kind === 'truth') !== (no.kind === 'truth'))
      throw new MaskError('both values of an `if` are numbers, or truth values', tree.at);
    const isWhole = MaskProgram.isWhole(yes) && MaskProgram.isWhole(no);
    const [a, b] = yes.kind === 'truth' ? [yes, no as Computed]
                 : isWhole ? [this.whole(yes), this.whole(no)] : [this.real(yes), this.real(no)];
    if (a.key === b.key)
      return a;
    if (condition.number !== undefined)
      return condition.number === 1 ? a : b;
    // Of equal ones, and if they are not, the other: that is always one of them.
    const isNot = condition.from?.op === 'not', equal = isNot ? condition.from!.operands[0].from : condition.from;
    if (equal?.op === '==' && equal.operands.every(({ key }) => key === a.key || key === b.key))
      return isNot ? a : b;
    return this.compute(a.kind, 'if', [condition, a, b], (slot) => (lo, hi) => {
      const always = lo[condition.slot] === 1, never = hi[condition.slot] === 0;
      lo[slot] = always ? lo[a.slot] : never ? lo[b.slot] : Math.min(lo[a.slot], lo[b.slot]);
      hi[slot] = always ? hi[a.slot] : never ? hi[b.slot] : Math.max(hi[a.slot], hi[b.slot]);
    }, a.isKnown && b.isKnown);
  }

  //===-- interval arithmetic --------------------------------------------------------------===//

  // What stands here of equal operands and of constants the compiler simplifies, too, before it judges a mask.

  private sum(a: Computed, b: Computed): Computed {
    if (a.kind === 'whole') {
      if (b.number !== undefined)
        return this.plus(a, b.number);
      if (a.number !== undefined)
        return this.plus(b, a.number);
      for (const [x, y] of [[a, b], [b, a]])
        if (x.from?.op === '-' && x.from.operands[1].key === y.key)
          return x.from.operands[0];
    }
    const by = a.kind === 'real' ? round : (x: number) => x;
    return this.compute(a.kind, '+', [a, b], (slot) => (lo, hi) => {
      lo[slot] = by(lo[a.slot] + lo[b.slot]), hi[slot] = by(hi[a.slot] + hi[b.slot]);
    });
  }

  private difference(a: Computed, b: Computed): Computed {
    if (a.kind === 'whole') {
      if (a.key === b.key)
        return this.constant('whole', 0);
      if (b.number !== undefined)
        return this.plus(a, -b.number);
      if (a.number !== undefined)
        return this.minus(a.number, b);
      const { op, operands } = a.from ?? { op: '', operands: [] };
      if (op === '-' && operands[0].key === b.key)
        return this.minus(0, operands[1]);
      if (op === '+' && operands.some(({ key }) => key === b.key))
        return operands[0].key === b.key ? operands[1] : operands[0];
    }
    const by = a.kind === 'real' ? round : (x: number) => x;
    return this.compute(a.kind, '-', [a, b], (slot) => (lo, hi) => {
      lo[slot] = by(lo[a.slot] - hi[b.slot]), hi[slot] = by(hi[a.slot] - lo[b.slot]);
    });
  }

  /** x + n, where x may itself have a constant added, or be subtracted from one. */
  private plus(x: Computed, n: number): Computed {
    if (x.number !== undefined)
      return this.constant('whole', x.number + n);
    const { op, operands } = x.from ?? { op: '', operands: [] };
    if (op === '+' && operands[1].number !== undefined)
      return this.plus(operands[0], operands[1].number + n);
    if (op === '-' && operands[0].number !== undefined)
      return this.minus(operands[0].number + n, operands[1]);
    if (n === 0)
      return x;
    return this.compute('whole', '+', [x, this.constant('whole', n)], (slot) => (lo, hi) => {
      lo[slot] = lo[x.slot] + n, hi[slot] = hi[x.slot] + n;
    });
  }

  /** n - x */
  private minus(n: number, x: Computed): Computed {
    if (x.number !== undefined)
      return this.constant('whole', n - x.number);
    const { op, operands } = x.from ?? { op: '', operands: [] };
    if (op === '+' && operands[1].number !== undefined)
      return this.minus(n - operands[1].number, operands[0]);
    if (op === '-' && operands[0].number !== undefined)
      return this.plus(operands[1], n - operands[0].number);
    return this.compute('whole', '-', [this.constant('whole', n), x], (slot) => (lo, hi) => {
      const most = n - lo[x.slot];
      lo[slot] = n - hi[x.slot], hi[slot] = most;
    });
  }

  private arithmetic(op: string, left: Value, right: Value): Value {
    if (left.kind === 'number' && right.kind === 'number')
      return { kind: 'number', value: fold(op, left.value, right.value) };
    const isWhole = MaskProgram.isWhole(left) && MaskProgram.isWhole(right) && op !== '/' && op !== '**';
    const a = isWhole ? this.whole(left) : this.real(left), b = isWhole ? this.whole(right) : this.real(right);
    const by = isWhole ? (x: number) => x : round;
    const { kind } = a;
    switch (op) {
      case '+':
        return this.sum(a, b);
      case '-':
        return this.difference(a, b);
      case '*':
        if (a.number === 1 || (isWhole && b.number === 0))
          return b;
        if (b.number === 1 || (isWhole && a.number === 0))
          return a;
        return this.compute(kind, '*', [a, b], (slot) => (lo, hi) => {
          const p = by(lo[a.slot] * lo[b.slot]), q = by(lo[a.slot] * hi[b.slot]);
          const r = by(hi[a.slot] * lo[b.slot]), s = by(hi[a.slot] * hi[b.slot]);
          lo[slot] = Math.min(p, q, r, s), hi[slot] = Math.max(p, q, r, s);
        });
      case 'min':
      case 'max': {
        if (a.key === b.key)
          return a;
        const f = Math[op];
        return this.compute(kind, op, [a, b], (slot) => (lo, hi) => {
          lo[slot] = f(lo[a.slot], lo[b.slot]), hi[slot] = f(hi[a.slot], hi[b.slot]);
        });
      }
      case '/': {
        const isKnown = a.isKnown && right.kind === 'number';
        const divisor = right.kind === 'number' ? round(right.value) : 0;
        const quotient = b.number === 1 ? { ...a } : this.compute('real', '/', [a, b], (slot) => (lo, hi) => {
          const x = round(lo[a.slot] / divisor), y = round(hi[a.slot] / divisor);
          lo[slot] = divisor < 0 ? y : x, hi[slot] = divisor < 0 ? x : y;
        }, isKnown);
        if (MaskProgram.isWhole(left) && MaskProgram.isWhole(right) && right.kind === 'number' && right.value > 0) {
          quotient.quotientOf = right.value;
          this.notePeriod(left, right.value);
        }
        return quotient;
      }
      case '%': { // from 0 on: what remains, the divisor added, and what remains of that
        const n = (right as { value: number }).value;
        const rest = this.remainder(a, n);
        return this.remainder(this.sum(rest, this.constant('whole', n)), n);
      }
      default: // `**`: a square is a product; of other powers the compiler knows no bounds
        if (right.kind === 'number' && right.value === 2)
          return this.arithmetic('*', a, a);
        return this.compute('real', op, [a, b], () => () => {}, false);
    }
  }

  /** The sign is that of the dividend. Between two dividends of one quotient, the remainder keeps their order. */
  private remainder(x: Computed, n: number): Computed {
    return this.compute('whole', `% ${n}`, [x], (slot) => (lo, hi) => {
      const a = lo[x.slot], b = hi[x.slot];
      const isOne = Math.trunc(a / n) === Math.trunc(b / n);
      lo[slot] = isOne ? a % n : Math.max(Math.min(a, 0), 1 - n);
      hi[slot] = isOne ? b % n : Math.min(Math.max(b, 0), n - 1);
    });
  }

  private notePeriod(dividend: Value, n: number): void {
    if (dividend !== this.row)
      return;
    this.isPeriodOne &&= this.period === undefined || this.period === n;
    this.period = n;
  }

  private compare(op: string, left: Value, right: Value): Computed {
    if (op === '>' || op === '>=')
      return this.compare(op === '>' ? '<' : '<=', right, left);
    if (op === '!=')
      return this.not(this.compare('==', left, right));
    const isWhole = MaskProgram.isWhole(left) && MaskProgram.isWhole(right);
    const a = isWhole ? this.whole(left) : this.real(left), b = isWhole ? this.whole(right) : this.real(right);
    if (isWhole && a.key === b.key)
      return this.constant('truth', Number(op !== '<'));
    if (op === '==' && a.from?.op === 'real' && b.number !== undefined && !Number.isInteger(b.number))
      return this.constant('truth', 0);
    return this.compute('truth', op, [a, b], (slot) => op === '=='
      ? (lo, hi) => {
        lo[slot] = Number(lo[a.slot] === hi[b.slot] && hi[a.slot] === lo[b.slot]);
        hi[slot] = Number(lo[a.slot] <= hi[b.slot] && lo[b.slot] <= hi[a.slot]);
      }
      : op === '<'
        ? (lo, hi) => { lo[slot] = Number(hi[a.slot] < lo[b.slot]), hi[slot] = Number(lo[a.slot] < hi[b.slot]); }
        : (lo, hi) => { lo[slot] = Number(hi[a.slot] <= lo[b.slot]), hi[slot] = Number(lo[a.slot] <= hi[b.slot]); });
  }

  private not(x: Computed): Computed {
    if (x.number !== undefined)
      return this.constant('truth', 1 - x.number);
    return this.compute('truth', 'not', [x], (slot) => (lo, hi) => {
      const least = 1 - hi[x.slot];
      hi[slot] = 1 - lo[x.slot], lo[slot] = least;
    });
  }

  private connect(op: 'and' | 'or', a: Computed, b: Computed): Computed {
    const f = op === 'and' ? Math.min : Math.max;
    return this.compute('truth', op, [a, b], (slot) => (lo, hi) => {
      lo[slot] = f(lo[a.slot], lo[b.slot]), hi[slot] = f(hi[a.slot], hi[b.slot]);
    });
  }
}

function fold(op: string, a: number, b: number): number {
  switch (op) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return a / b;
    case '%': return ((a % b) + b) % b;
    case '**': return a ** b;
    case 'min': return Math.min(a, b);
    default: return Math.max(a, b);
  }
}
