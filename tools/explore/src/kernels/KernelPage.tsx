// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel: what was fused, its facts, its loops, the roof over it, why something was not done, and its code beside the lines
// of the spec that it comes from.
import { useMemo, useState } from 'preact/hooks';
import { termOf, termsOf } from '../attention/terms';
import { flopOf, type Instruction, isTimed, type Kernel, lineAt, placeOf, type Shown, weightOf, worstFirst } from '../data';
import { byteText, flopText, rateText, shareText, timeText } from '../format';
import { CodeView, type Paint, useCode } from './CodeView';
import { Loops } from './Loops';
import { Reasons } from './Reasons';
import { Roof, roofOver } from './Roof';

const lineOf = (at: string | undefined) => at ? at.replace(/:\d+$/, '') : '';

/** A fact as text: tiles and estimates as rows, all else as it is. */
function factText(value: unknown): string {
  if (Array.isArray(value))
    return value.length === 0 ? 'nothing' : value.map(factText).join('; ');
  if (value && typeof value === 'object')
    return Object.entries(value).map(([name, own]) => `${name.replace(/_/g, ' ')} ${Array.isArray(own) ? own.join(', ') : factText(own)}`).join(', ');
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
}

/** Facts that the page shows in other ways. */
const drawn = new Set(['kind', 'terms', 'formula', 'verdicts']);

export function KernelPage({ shown, kernel }: { shown: Shown; kernel: Kernel }) {
  const [line, setLine] = useState<string>();
  const code = useCode(shown, kernel.function);
  const lines = useMemo(() => {
    const counts = new Map<string, number>();
    for (const { text, at } of code ?? [])
      if (text !== undefined)
        counts.set(lineOf(at), (counts.get(lineOf(at)) ?? 0) + 1);
    return [...counts].sort(([, a], [, b]) => b - a);
  }, [code]);
  const colours = useMemo(() => new Map(lines.slice(0, 6).map(([at], n) => [at, `line${n}`])), [lines]);
  const terms = useMemo(() => kernel.facts.kind === 'attention' ? termsOf(kernel) : undefined, [kernel]);
  const paint = useMemo<Paint>(() => ({
    classOf: (instruction: Instruction) => terms ? termOf(terms, instruction) : colours.get(lineOf(instruction.at)),
    isLit: line === undefined ? undefined : (instruction: Instruction) => lineOf(instruction.at) === line,
  }), [terms, colours, line]);
  const total = worstFirst(shown).reduce((sum, one) => sum + weightOf(shown, one), 0);
  const roof = roofOver(shown, kernel), flop = flopOf(shown, kernel);
  const all = lines.reduce((sum, [, count]) => sum + count, 0);
  return <>
    <p class="crumbs"><a href="#kernels">Kernels</a> › {kernel.function}{' '}
      {terms && <a href={`#attention/${encodeURIComponent(kernel.function)}`}>its attention</a>}</p>
    <div class="columns">
      <div class="stack">
        <section class="panel">
          <h2>{kernel.function}</h2>
          <dl class="facts">
            {kernel.kernel && <><dt>computes</dt><dd>{kernel.kernel}</dd></>}
            <dt>of</dt><dd>{kernel.places.map((at) => <div key={at}><span class="quiet">{at}</span> <code>{lineAt(shown.explanation, at)}</code></div>)}</dd>
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
        {kernel.loops && kernel.loops.length > 0 && <section class="panel"><h2>Loops</h2><Loops loops={kernel.loops} total={kernel.flop_dense ?? kernel.flop} /></section>}
        <Roof shown={shown} kernels={worstFirst(shown)} marked={kernel} />
      </div>
      <section class="panel" aria-label="Code">
        <h2>Code</h2>
        {code === undefined ? <p class="quiet">Unpacking …</p>
         : code.length === 0 ? <p class="quiet">The page has no machine code of {shown.target.name}: {shown.target.kind === 'gpu'
           ? 'attn compile --emit=ptx prints it' : 'it came from what attn explain --json wrote'}.</p>
         : <>
           <div class="lines" role="group" aria-label="Lines of the spec">
             {lines.map(([at, count]) => {
               const place = placeOf(`${at}:1`);
               return <button key={at} type="button" class={terms ? '' : colours.get(at) ?? ''} aria-pressed={line === at}
                              onClick={() => setLine(line === at ? undefined : at)}>
                 <span class="number">{shareText(count / all)}</span> <span class="quiet">{place ? at : 'no place'}</span>{' '}
                 <code>{place ? lineAt(shown.explanation, `${at}:1`) : ''}</code></button>;
             })}
           </div>
           <CodeView code={code} paint={paint} pick={(instruction) => setLine(lineOf(instruction.at))} />
         </>}
      </section>
    </div>
  </>;
}
