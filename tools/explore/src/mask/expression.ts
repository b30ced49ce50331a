// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expressions that masks are written in, as text to trees: the part of the language of specs
// (compiler/frontend/REFERENCE.md, "bias and mask") that speaks of one pair of a query and a key.

/** A tree of an expression. Names keep their dots: `i.row`, `j.x`. */
export type Expression =
  | { kind: 'number'; value: number; at: number }
  | { kind: 'truth'; value: boolean; at: number }
  | { kind: 'name'; name: string; at: number }
  | { kind: 'call'; name: string; arguments: Expression[]; named: Map<string, Expression>; at: number }
  | { kind: 'element'; name: string; indices: Expression[]; at: number }
  | { kind: 'unary'; op: 'not' | '-'; operand: Expression; at: number }
  | { kind: 'binary'; op: string; left: Expression; right: Expression; at: number }
  | { kind: 'if'; condition: Expression; yes: Expression; no: Expression; at: number };

/** A mistake in an expression, with its place: how many characters stand before it. */
export class MaskError extends Error {
  constructor(message: string, readonly at: number) {
    super(message);
  }
}

/** `mask window(i, j; left, right) = …` of a file. */
export interface Declaration {
  positions: string[];
  statics: { name: string; value?: Expression }[];
  body: Expression;
}

interface Token {
  text: string;
  kind: 'number' | 'word' | 'sign' | 'end';
  at: number;
}

const signs = ['**', '==', '!=', '<=', '>=', '(', ')', '[', ']', ',', ';', '=', '<', '>', '+', '-', '*', '/', '%'];
/** Binary operators, those that bind loosest first. `not` stands between `and` and comparisons. */
const levels = [['or'], ['and'], ['==', '!=', '<', '<=', '>', '>='], ['+', '-'], ['*', '/', '%']];

function tokens(text: string): Token[] {
  const list: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at);
    const space = /^(\s+|\/\/[^\n]*)/.exec(rest);
    if (space) {
      at += space[0].length;
      continue;
    }
    const number = /^(\d+(\.\d+)?([eE][-+]?\d+)?)/.exec(rest);
    const word = /^[A-Za-z_]\w*(\.\w+)*/.exec(rest);
    const sign = signs.find((one) => rest.startsWith(one));
    const found = number?.[0] ?? word?.[0] ?? sign;
    if (!found)
      throw new MaskError(`\`${rest[0]}\` means nothing here`, at);
    list.push({ text: found, kind: number ? 'number' : word ? 'word' : 'sign', at });
    at += found.length;
  }
  list.push({ text: 'the end', kind: 'end', at });
  return list;
}

class Parser {
  private next = 0;
  private readonly list: Token[];

  constructor(text: string) {
    this.list = tokens(text);
  }

  get token(): Token {
    return this.list[this.next];
  }
  is(text: string): boolean {
    return this.token.kind !== 'end' && this.token.text === text;
  }
  take(text: string): boolean {
    if (!this.is(text))
      return false;
    ++this.next;
    return true;
  }
  expect(text: string): void {
    if (!this.take(text))
      throw new MaskError(`expected \`${text}\`, but got ${quoted(this.token)}`, this.token.at);
  }
  word(): string {
    if (this.token.kind !== 'word')
      throw new MaskError(`expected a name, but got ${quoted(this.token)}`, this.token.at);
    return this.list[this.next++].text;
  }
  end(): void {
    if (this.token.kind !== 'end')
      throw new MaskError(`expected the end, but got ${quoted(this.token)}`, this.token.at);
  }

  expression(level = 0): Expression {
    if (level === levels.length)
      return this.unary();
    const isComparison = levels[level].includes('<');
    const { at: first } = this.token;
    if (isComparison && this.take('not'))
      return { kind: 'unary', op: 'not', operand: this.expression(level), at: first };
    let left = this.expression(level + 1);
    while (levels[level].includes(this.token.text) && this.token.kind !== 'end') {
      const { text: op, at } = this.list[this.next++];
      left = { kind: 'binary', op, left, right: this.expression(level + 1), at };
      if (isComparison && levels[level].includes(this.token.text))
        throw new MaskError('comparisons do not follow each other: join two of them by `and`', this.token.at);
    }
    return left;
  }

  private unary(): Expression {
    const { at } = this.token;
    if (this.take('-'))
      return { kind: 'unary', op: '-', operand: this.unary(), at };
    return this.power();
  }

  private power(): Expression {
    const base = this.primary();
    const { at } = this.token;
    return this.take('**') ? { kind: 'binary', op: '**', left: base, right: this.unary(), at } : base;
  }

  private primary(): Expression {
    const token = this.token;
    const { at } = token;
    if (token.kind === 'number') {
      ++this.next;
      return { kind: 'number', value: Number(token.text), at };
    }
    if (this.take('(')) {
      const inner = this.expression();
      this.expect(')');
      return inner;
    }
    if (this.take('if')) {
      const condition = this.expression();
      this.expect('then');
      const yes = this.expression();
      this.expect('else');
      return { kind: 'if', condition, yes, no: this.expression(), at };
    }
    if (token.kind !== 'word' || ['then', 'else', 'and', 'or', 'not'].includes(token.text))
      throw new MaskError(`expected a number, a position or \`(\`, but got ${quoted(token)}`, at);
    const name = this.word();
    if (name === 'true' || name === 'false')
      return { kind: 'truth', value: name === 'true', at };
    if (this.take('('))
      return { kind: 'call', name, ...this.callArguments(), at };
    if (this.take('['))
      return { kind: 'element', name, indices: this.values(']'), at };
    return { kind: 'name', name, at };
  }

  private values(end: string): Expression[] {
    const values = [this.expression()];
    while (this.take(','))
      values.push(this.expression());
    this.expect(end);
    return values;
  }

  private callArguments(): { arguments: Expression[]; named: Map<string, Expression> } {
    const values: Expression[] = [], named = new Map<string, Expression>();
    if (this.take(')'))
      return { arguments: values, named };
    do {
      const value = this.expression();
      if (value.kind === 'name' && this.take('='))
        named.set(value.name, this.expression());
      else
        values.push(value);
    } while (this.take(','));
    this.expect(')');
    return { arguments: values, named };
  }
}

function quoted(token: Token): string {
  return token.kind === 'end' ? 'the end' : `\`${token.text}\``;
}

/** The tree of an expression. Throws MaskError. */
export function parseExpression(text: string): Expression {
  const parser = new Parser(text);
  const tree = parser.expression();
  parser.end();
  return tree;
}

/** The declarations of masks in a file that read no tensors. What cannot be read is passed by: the compiler has read it. */
export function declarationsOf(text: string): Map<string, Declaration> {
  const found = new Map<string, Declaration>();
  for (const line of text.matchAll(/^[ \t]*mask[ \t]+(\w+)[ \t]*\(([^()]*)\)[ \t]*=(.*(?:\n[ \t]+(?:and|or|then|else)\b.*)*)/gm)) {
    try {
      const [positions, statics] = line[2].split(';');
      found.set(line[1], {
        positions: names(positions),
        statics: names(statics ?? '').map((one) => {
          const [name, value] = one.split('=');
          return { name: name.trim(), value: value ? parseExpression(value) : undefined };
        }),
        body: parseExpression(line[3]),
      });
    } catch (error) {
      if (!(error instanceof MaskError))
        throw error;
    }
  }
  return found;
}

function names(list: string): string[] {
  return list.split(',').map((name) => name.trim()).filter((name) => name !== '');
}
