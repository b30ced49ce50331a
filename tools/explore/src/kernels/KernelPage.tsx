// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel: what was fused, its facts, its loops, the roof over it, why something was not done, and its code beside the places
// of the spec that it comes from.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { flopOf, type Instruction, isTimed, type Kernel, placeOf, type Shown, termAt, weightOf, worstFirst } from '../data';
import { byteText, flopText, rateText, shareText, timeText } from '../format';
import type { Verdict } from '../mask/program';
import { CodeView, type Paint, useCode } from './CodeView';
import { Loops, workOn } from './Loops';
import { Reasons } from './Reasons';
import { Roof, roofOver } from './Roof';

/** A fact as text: tiles and estimates as rows, all else as it is. */
function factText(value: unknown): string {
  if (Array.isArray(value))
    return value.length === 0 ? 'nothing' : value.map(factText).join('; ');
  if (value && typeof value === 'object')
    return Object.entries(value).map(([name, own]) => `${name.replace(/_/g, ' ')} ${Array.isArray(own) ? own.join(', ') : factText(own)}`).join(', ');
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
}

/** Facts that the page shows in other ways. */
const drawn = new Set(['kind', 'terms', 'formula', 'verdicts', 'division']);

export function KernelPage({ shown, kernel, tile }: { shown: Shown; kernel: Kernel; tile?: Verdict }) {
  const [place, setPlace] = useState<string>();
  const code = useCode(shown, kernel.function);
  useEffect(() => document.querySelector('.loops .marked')?.scrollIntoView({ block: 'center' }), [tile]);
  const places = useMemo(() => {
    const counts = new Map<string, number>();
    for (const { text, at } of code ?? [])
      if (text !== undefined)
        counts.set(at ?? '', (counts.get(at ?? '') ?? 0) + 1);
    return [...counts].sort(([, a], [, b]) => b - a);
  }, [code]);
  const colours = useMemo(() => new Map(places.slice(0, 6).map(([at], n) => [at, `place${n}`])), [places]);
  const isAttention = kernel.facts.kind === 'attention';
  const paint = useMemo<Paint>(() => ({
    classOf: (instruction: Instruction) => isAttention ? instruction.part : colours.get(instruction.at ?? ''),
    isLit: place === undefined ? undefined : (instruction: Instruction) => (instruction.at ?? '') === place,
  }), [isAttention, colours, place]);
  const total = worstFirst(shown).reduce((sum, one) => sum + weightOf(shown, one), 0);
  const roof = roofOver(shown, kernel), flop = flopOf(shown, kernel);
  const all = places.reduce((sum, [, count]) => sum + count, 0);
  return <>
    <p class="crumbs"><a href="#kernels">Kernels</a> › {kernel.function}{' '}
      {isAttention && <a href={`#attention/${encodeURIComponent(kernel.function)}`}>its attention</a>}</p>
    <div class="columns">
      <div class="stack">
        <section class="panel">
          <h2>{kernel.function}</h2>
          <dl class="facts">
            {kernel.kernel && <><dt>computes</dt><dd>{kernel.kernel}</dd></>}
            <dt>of</dt><dd>{kernel.places.map((at) => <div key={at}><span class="quiet">{at}</span> <code>{termAt(shown.explanation, at)}</code></div>)}</dd>
            {kernel.counted_with && <><dt>counted with</dt><dd><a href={`#kernels/${encodeURIComponent(kernel.counted_with)}`}>{kernel.counted_with}</a></dd></>}
            <dt>calls</dt><dd>{shown.calls.get(kernel.function) ?? 0} by <code>{shown.entry}</code></dd>
            {isTimed(shown) && kernel.seconds !== undefined && <><dt>time</dt><dd>{timeText(kernel.seconds)}, {shareText(kernel.seconds / total)} of the run
              {kernel.waiting !== undefined && `; threads waited ${shareText(kernel.waiting)} of it`}</dd></>}
            {flop !== undefined && <><dt>operations</dt><dd>{flopText(kernel.flop)} a call{kernel.flop_counts !== 'all' && ` (${kernel.flop_counts})`}
              {isTimed(shown) && kernel.seconds ? `, ${rateText(flop / kernel.seconds)}` : ''}</dd></>}
            {kernel.bytes !== undefined && <><dt>bytes</dt><dd>{byteText(kernel.bytes)} a call</dd></>}
            {roof && <><dt>roof</dt><dd>{roof.isMemory ? 'memory' : 'arithmetic'}: {shareText(roof.share)} of {rateText(roof.limit)}</dd></>}
            {Object.entries(kernel.facts).filter(([name]) => !drawn.has(name)).map(([name, value]) =>
              <><dt>{name.replace(/_/g, ' ')}</dt><dd>{factText(value)}</dd></>)}
          </dl>
          <Reasons reasons={kernel.reasons} />
        </section>
        {kernel.loops && kernel.loops.length > 0 && <section class="panel"><h2>Loops</h2>
          {tile && <p class="quiet">Marked: what {tile === 'empty' ? 'passes empty tiles of the mask by' : `works on ${tile} tiles of the mask`}.</p>}
          <Loops loops={kernel.loops} total={kernel.flop} marked={tile && workOn(tile, kernel.loops)} /></section>}
        <Roof shown={shown} kernels={worstFirst(shown)} marked={kernel} />
      </div>
      <section class="panel" aria-label="Code">
        <h2>Code</h2>
        {code === undefined ? <p class="quiet">Unpacking …</p>
         : code.length === 0 ? <p class="quiet">The page has no machine code of {shown.target.name}: {shown.target.kind === 'gpu'
           ? 'attn compile --emit=ptx prints it' : 'it came from what attn explain --json wrote'}.</p>
         : <>
           <div class="places" role="group" aria-label="Places in the spec">
             {places.map(([at, count]) => <button key={at} type="button" class={isAttention ? '' : colours.get(at) ?? ''} aria-pressed={place === at}
                                                  onClick={() => setPlace(place === at ? undefined : at)}>
               <span class="number">{shareText(count / all)}</span> <span class="quiet">{placeOf(at) ? at : 'no place'}</span>{' '}
               <code>{termAt(shown.explanation, at)}</code></button>)}
           </div>
           <CodeView code={code} paint={paint} pick={(instruction) => setPlace(instruction.at ?? '')} />
         </>}
      </section>
    </div>
  </>;
}
