// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops of a kernel as nested boxes, with how often each runs and what it costs.
import type { Loop } from '../data';
import { countText, flopText } from '../format';
import type { Verdict } from '../mask/program';

/** Of an attention, what works on the tiles of a verdict of its mask: products of scores, or the loop that passes tiles by. */
export function workOn(verdict: Verdict, loops: Loop[]): Set<Loop> {
  const scores = (loop: Loop): Loop[] => loop.op === 'score_tile' ? [loop] : (loop.body ?? []).flatMap(scores);
  const all = loops.flatMap(scores), isTested = ({ text }: Loop) => text.endsWith('pair by pair');
  if (verdict !== 'empty')
    return new Set(all.filter((loop) => isTested(loop) === (verdict === 'tested')));
  const passesBy = (loop: Loop): Loop[] => loop.loop === 'for' && /^keys\b(?!,)/.test(loop.text) && scores(loop).length > 0 ? [loop]
                                         : (loop.body ?? []).flatMap(passesBy);
  return new Set(loops.flatMap(passesBy));
}

export function Loops({ loops, total, marked }: { loops: Loop[]; total?: number; marked?: Set<Loop> }) {
  return <ol class="loops">{loops.map((loop, at) => <One key={at} loop={loop} total={total} marked={marked} />)}</ol>;
}

function One({ loop, total, marked }: { loop: Loop; total?: number; marked?: Set<Loop> }) {
  const share = loop.flop && total ? loop.flop / total : undefined;
  return <li class={`${loop.loop ? 'loop' : 'op'} ${loop.part ?? ''}`}>
    <div class={`head${marked?.has(loop) ? ' marked' : ''}`}>
      <span><b>{loop.loop ?? loop.op}</b> {loop.text}</span>
      {loop.trips !== undefined && loop.trips !== null && <span class="quiet">{countText(loop.trips)}×</span>}
      {loop.flop !== undefined && loop.flop !== null && loop.flop > 0 && <span class="quiet">{flopText(loop.flop)}</span>}
      {share !== undefined && <svg class="cost" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <rect width={Math.min(100, 100 * share)} height="10" /></svg>}
    </div>
    {loop.body && loop.body.length > 0 && <Loops loops={loop.body} total={total} marked={marked} />}
  </li>;
}
