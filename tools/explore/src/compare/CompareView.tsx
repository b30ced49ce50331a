// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The view of two builds: what both come to, the kernels that differ, those that changed most first, and what one side has alone.
import { useState } from 'preact/hooks';
import { type Difference, type Kernel, kernelAddress, type OneSided, type Step, targetsOf } from '../data';
import { flopText, timeText } from '../format';
import type { ViewProps } from '../main';
import { changeText, quantities, type Quantity, type Side, sideBySide } from './facts';

type Differing = Difference['kernels'][number];
/** As many kernels as are shown at first. */
const atFirst = 30;

/** "1.33 x" of b to a; nothing where they are alike. */
function ratioText(a: number, b: number): string {
  if (a === b)
    return 'alike';
  return a && b ? `${(b / a).toPrecision(3)} ×` : '';
}

/** Two bars below each other, against the longest of their column. */
function Bars({ a, b, most }: { a: number; b: number; most: number }) {
  const width = 220, length = (amount: number) => (most ? Math.max(amount ? 1.5 : 0, width * amount / most) : 0);
  return <svg width={width} height={20} aria-hidden="true" class="bars">
    <rect width={length(a)} height={8} y={1} class="side-a" /><rect width={length(b)} height={8} y={11} class="side-b" />
  </svg>;
}

function InAll({ rows }: { rows: Quantity[] }) {
  const differing = rows.filter((row) => row.a !== row.b), alike = rows.filter((row) => row.a === row.b);
  return <>
    {differing.length > 0 && <div class="scroll" tabIndex={0} role="group" aria-label="Both in all"><table>
      <thead><tr><th>quantity</th><th class="number">A</th><th class="number">B</th><td></td><th class="number">B to A</th></tr></thead>
      <tbody>{differing.map((row) => <tr key={row.name}>
        <td>{row.name}</td><td class="number">{row.text(row.a)}</td><td class="number">{row.text(row.b)}</td>
        <td class="cell"><Bars a={row.a} b={row.b} most={Math.max(row.a, row.b)} /></td><td class="number">{ratioText(row.a, row.b)}</td>
      </tr>)}</tbody>
    </table></div>}
    {alike.length > 0 && <p>Alike: {alike.map((row) => `${row.name} ${row.text(row.a)}`).join(', ')}.</p>}
  </>;
}

/** What a kernel takes on both sides: times where both were measured, else operations of a call. */
function amounts(own: Differing, a?: Kernel, b?: Kernel) {
  return own.seconds ? { ...own.seconds, text: timeText } : { a: a?.flop ?? 0, b: b?.flop ?? 0, text: flopText };
}

/** A kernel, with a way to its page where it is of the target that the page shows. */
function Name({ side, of }: { side: Side; of: string }) {
  return side.isShown ? <a href={kernelAddress(of)}>{of}</a> : <>{of}</>;
}

function Facts({ a, b, kernels }: { a: Side; b: Side; kernels: { a: Kernel; b: Kernel } }) {
  return <>
    <table class="facts">
      <thead><tr><th>fact</th><th>A: <Name side={a} of={kernels.a.function} /></th><th>B: <Name side={b} of={kernels.b.function} /></th></tr></thead>
      <tbody>{sideBySide(kernels.a, kernels.b).map(({ fact, a, b }) => <tr key={fact} class={a === b ? '' : 'differs'}>
        <th scope="row">{fact}</th><td>{a}</td><td>{b}</td></tr>)}</tbody>
    </table>
    <p>A: {kernels.a.text}<br />B: {kernels.b.text}</p>
  </>;
}

function Pair({ own, most, a, b, kernels }: { own: Differing; most: number; a: Side; b: Side; kernels: { a?: Kernel; b?: Kernel } }) {
  const [isOpen, setOpen] = useState(false);
  const amount = amounts(own, kernels.a, kernels.b), first = own.changes[0] && changeText(own.changes[0]);
  return <details class="pair" onToggle={(event) => setOpen(event.currentTarget.open)}>
    <summary>
      <span class="name">{own.function}</span>
      <Bars a={amount.a} b={amount.b} most={most} />
      <span class="amounts">{amount.a === amount.b ? amount.text(amount.a) :
        `${amount.text(amount.a)} and ${amount.text(amount.b)}, ${ratioText(amount.a, amount.b)}`}</span>
      <span class="first">{first && <>{first.fact}: {first.a} → {first.b}{own.changes.length > 1 && `, and ${own.changes.length - 1} more`}</>}</span>
    </summary>
    {isOpen && kernels.a && kernels.b && <Facts a={a} b={b} kernels={{ a: kernels.a, b: kernels.b }} />}
  </details>;
}

function Alone({ name, side, list }: { name: string; side: Side; list: OneSided[] }) {
  if (!list.length)
    return null;
  return <section class="panel"><h2>Only in {name}</h2>
    <ul class="alone">{list.map((own) => <li key={own.function}><Name side={side} of={own.function} /> {own.text}</li>)}</ul>
  </section>;
}

/** Which of the kernels that differ runs first. */
function firstChanged(a: Side, diff: Difference): Differing | undefined {
  const differing = new Map(diff.kernels.filter((own) => own.changes.length > 0).map((own) => [own.function, own]));
  const walk = (steps: Step[]): Differing | undefined => {
    for (const step of steps) {
      const found = differing.get(step.function) ?? walk(step.steps ?? []);
      if (found)
        return found;
    }
    return undefined;
  };
  return walk(a.target.entries.flatMap((entry) => entry.steps));
}

function Both({ a, b, diff }: { a: Side; b: Side; diff: Difference }) {
  const [isAll, showAll] = useState(false);
  const left = new Map(a.target.kernels.map((kernel) => [kernel.function, kernel])), right = new Map(b.target.kernels.map((kernel) => [kernel.function, kernel]));
  const pairs = diff.kernels.map((own) => ({ own, kernels: { a: left.get(own.function), b: right.get(own.function_b) } }));
  const most = Math.max(0, ...pairs.flatMap(({ own, kernels }) => { const { a, b } = amounts(own, kernels.a, kernels.b); return [a, b]; }));
  const first = firstChanged(a, diff), change = first && changeText(first.changes[0]);
  return <div class="compare stack">
    <section class="panel"><h2>In all</h2>
      <p><span class="key side-a" />A: {a.label}<br /><span class="key side-b" />B: {b.label}</p>
      <InAll rows={quantities(a.target, b.target)} />
    </section>
    <section class="panel"><h2>Kernels that differ</h2>
      <p>{pairs.length} {pairs.length === 1 ? 'differs' : 'differ'}, those that {pairs[0]?.own.seconds ? 'changed most' : 'have most operations'} first; {diff.same} {diff.same === 1 ? 'is' : 'are'} alike.</p>
      {first && <p>What changed first, in the order in which they run: <strong>{first.function}</strong>: {change!.fact} was {change!.a} and is {change!.b}.</p>}
      {(isAll ? pairs : pairs.slice(0, atFirst)).map(({ own, kernels }) =>
        <Pair key={own.function} own={own} most={most} a={a} b={b} kernels={kernels} />)}
      {!isAll && pairs.length > atFirst && <p><button type="button" onClick={() => showAll(true)}>Show all {pairs.length}</button></p>}
    </section>
    <Alone name="A" side={a} list={diff.only_a} />
    <Alone name="B" side={b} list={diff.only_b} />
  </div>;
}

export function CompareView({ shown }: ViewProps) {
  const [a, b] = targetsOf(shown.data).map(({ label, target }) => ({ label, target, isShown: target === shown.target }));
  return <Both a={a} b={b} diff={shown.data.diff!} />;
}
