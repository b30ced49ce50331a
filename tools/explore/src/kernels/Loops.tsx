// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops of a kernel as nested boxes, with how often each runs and what it costs.
import type { Loop } from '../data';
import { countText, flopText } from '../format';

export function Loops({ loops, total }: { loops: Loop[]; total?: number }) {
  return <ol class="loops">{loops.map((loop, at) => <One key={at} loop={loop} total={total} />)}</ol>;
}

function One({ loop, total }: { loop: Loop; total?: number }) {
  const share = loop.flop && total ? loop.flop / total : undefined;
  return <li class={`${loop.loop ? 'loop' : 'op'} ${loop.part ?? ''}`}>
    <div class="head">
      <span><b>{loop.loop ?? loop.op}</b> {loop.text}</span>
      {loop.trips !== undefined && loop.trips !== null && <span class="quiet">{countText(loop.trips)}×</span>}
      {loop.flop !== undefined && loop.flop !== null && loop.flop > 0 && <span class="quiet">{flopText(loop.flop)}</span>}
      {share !== undefined && <svg class="cost" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <rect width={Math.min(100, 100 * share)} height="10" /></svg>}
    </div>
    {loop.body && loop.body.length > 0 && <Loops loops={loop.body} total={total} />}
  </li>;
}
