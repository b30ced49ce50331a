// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Outputs of `attn verify` one below the other, as they are computed: how far each is off, as a bar by magnitude.
import type { ComparedOutput, Comparison } from '../data';
import { errorText } from '../format';
import { isNumber } from './stepErrors';

/** The bar's share of its column: from 1e-8, where there is none, to 1. */
const barShare = (error: number) => Math.min(1, Math.max(0, (Math.log10(Math.max(error, 1e-30)) + 8) / 8));

const numberText = (value: number | null) => (value === null ? '' : value.toPrecision(4));

function verdict(output: ComparedOutput): string {
  return output.not_numbers || (output.past_bound ? 'past the bound' : output.remark);
}

export function Errors({ run, outputs }: { run: Comparison; outputs: ComparedOutput[] }) {
  const first = outputs.find((output) => !isNumber(output)) ?? outputs.find((output) => output.past_bound);
  return <>
    <p>{first ? <>The first that is wrong: <strong class="bad">{first.output}</strong>, {verdict(first)}.</> :
      <>All are within the bound of {errorText(run.bound)}.</>}</p>
    <div class="scroll" tabIndex={0} role="group" aria-label="Errors of outputs"><table class="errors">
      <thead><tr><th>output</th><th class="number">relative error</th><td></td><th class="number">largest difference</th>
        <th class="number">least</th><th class="number">most</th><th>remark</th></tr></thead>
      <tbody>{outputs.map((output) => <tr key={output.output} class={output === first ? 'first' : ''}>
        <td>{output.output}</td>
        <td class="number">{output.relative_l2 === null ? 'no number' : errorText(output.relative_l2)}</td>
        <td class="cell"><svg width={120} height={10} aria-hidden="true">
          <rect width={isNumber(output) ? 120 * barShare(output.relative_l2!) : 120} height={10} class={isNumber(output) && !output.past_bound ? 'bar' : 'bar wrong'} />
        </svg></td>
        <td class="number">{output.max_abs === null ? '' : errorText(output.max_abs)}</td>
        <td class="number">{numberText(output.least)}</td><td class="number">{numberText(output.greatest)}</td>
        <td>{verdict(output)}</td>
      </tr>)}</tbody>
    </table></div>
  </>;
}
