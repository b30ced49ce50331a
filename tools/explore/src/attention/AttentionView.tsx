// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An attention: its formula, its mask as tiles, and its instructions in the colours of the formula's terms.
import { useMemo, useState } from 'preact/hooks';
import { type Instruction, isTimed, type Kernel, lineAt, type Shown, type TermName, weightOf, worstFirst } from '../data';
import { flopText, shareText, timeText } from '../format';
import { CodeView, type Paint, useCode } from '../kernels/CodeView';
import { Reasons } from '../kernels/Reasons';
import type { ViewProps } from '../main';
import { Formula, TermButtons } from './Formula';
import { MaskTiles } from './MaskTiles';
import { termsOf } from './terms';

/** The attentions of the entry, the one that takes most first. */
function attentionsOf(shown: Shown): Kernel[] {
  const own = worstFirst(shown).filter(({ facts }) => facts.kind === 'attention');
  return own.length > 0 ? own : shown.target.kernels.filter(({ facts }) => facts.kind === 'attention');
}

export function AttentionView({ shown, chosen }: ViewProps) {
  const all = attentionsOf(shown), kernel = all.find((one) => one.function === chosen) ?? all[0];
  return <>
    {all.length > 1 && <nav class="tabs" aria-label="Attentions">
      {all.map((one) => <a key={one.function} href={`#attention/${encodeURIComponent(one.function)}`} aria-current={one === kernel ? 'true' : undefined}>
        {one.function}</a>)}
    </nav>}
    <OneAttention key={`${shown.index} ${shown.target.name} ${kernel.function}`} shown={shown} kernel={kernel} />
  </>;
}

function OneAttention({ shown, kernel }: { shown: Shown; kernel: Kernel }) {
  const terms = useMemo(() => termsOf(kernel), [kernel]);
  const [term, setTerm] = useState<TermName>();
  const code = useCode(shown, kernel.function);
  const counts = useMemo(() => {
    const found = new Map<TermName, number>();
    for (const instruction of code ?? []) {
      if (instruction.part)
        found.set(instruction.part, (found.get(instruction.part) ?? 0) + 1);
    }
    return found;
  }, [code]);
  const paint = useMemo<Paint>(() => ({
    classOf: ({ part }: Instruction) => part,
    isLit: term && (({ part }: Instruction) => part === term),
  }), [term]);
  const instructions = code?.filter(({ text }) => text !== undefined).length ?? 0;
  const { facts } = kernel;
  const total = worstFirst(shown).reduce((sum, one) => sum + weightOf(shown, one), 0);
  return <div class="columns attention">
    <div class="stack">
      <section class="panel" aria-label="Formula">
        <h2>{kernel.function} <span class="quiet">{kernel.at}</span></h2>
        <Formula terms={terms} chosen={term} choose={(next) => setTerm(next === term ? undefined : next)} />
        <TermButtons terms={terms} chosen={term} choose={setTerm}
                     sharesOf={(one) => instructions > 0 ? shareText((counts.get(one) ?? 0) / instructions) : ''} />
        {term && <p class="spec-line"><span class="quiet">{terms.find((one) => one.term === term)!.at}</span>{' '}
          <code>{lineAt(shown.explanation, terms.find((one) => one.term === term)!.at)}</code></p>}
      </section>
      {terms.some((one) => one.term === 'mask')
        ? facts.verdicts
          ? <MaskTiles shown={shown} kernel={kernel} choose={(verdict) => setTerm(verdict === 'tested' ? 'mask' : undefined)} />
          : <section class="panel"><h2>Mask</h2><p>Tiles of <code>{String(facts.formula?.mask ?? facts.mask)}</code> are judged when running
            {facts.lowering === 'unfused' || facts.lowering === 'strip' ? '' : ': the mask reads tensors, or there are too many'}.</p></section>
        : <section class="panel"><h2>Mask</h2><p>None: every query sees every key.</p></section>}
    </div>
    <section class="panel" aria-label="Kernel">
      <h2><a href={`#kernels/${encodeURIComponent(kernel.function)}`}>Kernel</a>{' '}
        <span class="quiet">{isTimed(shown) && kernel.seconds !== undefined
          ? `${timeText(kernel.seconds)}, ${shareText(kernel.seconds / total)} of the run`
          : `${flopText(kernel.flop)}, ${shareText(weightOf(shown, kernel) / (total || 1))} of the operations`}</span></h2>
      <p>{String(facts.heads ?? '')} heads of {String(facts.features ?? '')} features, {String(facts.queries ?? '')} queries, {String(facts.keys ?? '')} keys;{' '}
        lowered as <b>{String(facts.lowering ?? 'one kernel')}</b></p>
      <Reasons reasons={kernel.reasons} />
      {code === undefined ? <p class="quiet">Unpacking its code …</p>
       : code.length === 0 ? <p class="quiet">The page has no machine code of {shown.target.name}.</p>
       : <CodeView code={code} paint={paint} pick={({ part }) => setTerm(part)} />}
    </section>
  </div>;
}
