// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formula of an attention as set text, a colour for each of its terms.
import type { ComponentChildren } from 'preact';
import type { Term, TermName } from '../data';
import { termTitles } from './terms';

const indexed = (name: string, index: string) => <msub><mi>{name}</mi><mi>{index}</mi></msub>;

function scoreMath(words: string) {
  const product = <mrow>{indexed('q', 'i')}<mo>·</mo>{indexed('k', 'j')}</mrow>;
  if (words === 'dot')
    return product;
  if (words === 'scaled_dot')
    return <mfrac>{product}<msqrt><mi>d</mi></msqrt></mfrac>;
  if (words === 'cosine')
    return <mfrac>{product}<mrow><mo>‖</mo>{indexed('q', 'i')}<mo>‖</mo><mo>‖</mo>{indexed('k', 'j')}<mo>‖</mo></mrow></mfrac>;
  return <mrow><mtext>{words}</mtext><mo>(</mo>{indexed('q', 'i')}<mo>,</mo>{indexed('k', 'j')}<mo>)</mo></mrow>;
}

/** What stands in the formula for a term: its words, in the signs that people set; its name, where they are many. */
function setWords({ term, text }: Term): string {
  const most = 18;
  return text.length > most ? `${term}(i, j)` : text.replace(/^causal$/, 'j <= i').replace(/<=/g, '≤').replace(/>=/g, '≥').replace(/!=/g, '≠').replace(/==/g, '=').replace(/\*/g, '·');
}

export function Formula(props: { terms: Term[]; chosen?: TermName; choose: (term: TermName) => void }) {
  const find = (name: TermName) => props.terms.find(({ term }) => term === name);
  const term = (name: TermName, inner: ComponentChildren) =>
    <mrow class={`term ${name}${props.chosen === name ? ' chosen' : ''}`} onClick={() => props.choose(name)}>{inner}</mrow>;
  const score = find('score'), bias = find('bias'), cap = find('cap'), mask = find('mask'), weight = find('weight');
  let scores = <mrow>
    {score && term('score', scoreMath(score.text))}
    {bias && <><mo>+</mo>{term('bias', <mtext>{setWords(bias)}</mtext>)}</>}
  </mrow>;
  if (cap)
    scores = <mrow>{term('cap', <msub><mi>cap</mi><mtext>{setWords(cap)}</mtext></msub>)}<mo>(</mo>{scores}<mo>)</mo></mrow>;
  const sum = <munder><mo>∑</mo><mrow><mi>j</mi>{mask && <>
    <mo>:</mo>{term('mask', <mtext>{setWords(mask)}</mtext>)}</>}</mrow></munder>;
  return <div class="formula">
    <math display="block">
      {indexed('y', 'i')}<mo>=</mo>{sum}
      {weight && term('weight', <mtext>{weight.text}</mtext>)}<mo>(</mo>{scores}<mo>)</mo>
      {term('values', indexed('v', 'j'))}
    </math>
  </div>;
}

/** The same as buttons, with what is known of each. */
export function TermButtons(props: { terms: Term[]; chosen?: TermName; choose: (term: TermName | undefined) => void;
                                     sharesOf: (term: TermName) => string }) {
  return <div class="terms" role="group" aria-label="Terms">
    {props.terms.map(({ term, text, at }) =>
      <button key={term} type="button" class={`term ${term}`} aria-pressed={props.chosen === term} title={at}
              onClick={() => props.choose(props.chosen === term ? undefined : term)}>
        <b>{termTitles[term]}</b> <code>{text}</code> <span class="quiet">{props.sharesOf(term)}</span>
      </button>)}
  </div>;
}
