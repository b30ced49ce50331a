// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of an entry, those that take most first; and each as a page.
import { flopOf, isTimed, type Kernel, type Shown, weightOf, worstFirst } from '../data';
import { flopText, plural, rateText, shareText, timeText } from '../format';
import type { ViewProps } from '../main';
import type { Verdict } from '../mask/program';
import { KernelPage } from './KernelPage';
import { Roof } from './Roof';

const verdicts: Verdict[] = ['empty', 'full', 'tested'];

export function KernelsView({ shown, chosen }: ViewProps) {
  const [name, tile] = chosen.split('?'); // `?tested`: what works on such tiles of a mask is marked
  const kernel = shown.kernels.get(name);
  return kernel ? <KernelPage key={`${shown.index} ${shown.target.name} ${chosen}`} shown={shown} kernel={kernel} tile={verdicts.find((verdict) => verdict === tile)} /> : <List shown={shown} />;
}

function List({ shown }: { shown: Shown }) {
  const kernels = worstFirst(shown), total = kernels.reduce((sum, kernel) => sum + weightOf(shown, kernel), 0);
  const { run } = shown.target, isRun = isTimed(shown);
  return <div class="stack">
    <section class="panel">
      <h2>{plural(kernels.length, 'kernel')} of <code>{shown.entry}</code></h2>
      <p class="quiet">{isRun ? `By the time that each took in a run on ${plural(run!.threads, 'thread')} of ${timeText(run!.median_ms / 1e3)} (median).`
        : `By operations. For times: attn bench ${shown.explanation.spec} --profile --json > run.json, and --run run.json for attn explore.`}</p>
      <table class="kernels">
        <thead><tr><th>{isRun ? 'time' : 'operations'}</th><th class="number">share</th><th class="number">calls</th><th>kernel</th>
          <th class="number">{isRun ? 'FLOP/s' : 'FLOP'}</th><th>what it does</th></tr></thead>
        <tbody>{kernels.map((kernel) => <Row key={kernel.function} shown={shown} kernel={kernel} share={weightOf(shown, kernel) / (total || 1)}
          worst={weightOf(shown, kernels[0]) / (total || 1)} />)}</tbody>
      </table>
    </section>
    {isRun && <Roof shown={shown} kernels={kernels} />}
  </div>;
}

function Row({ shown, kernel, share, worst }: { shown: Shown; kernel: Kernel; share: number; worst: number }) {
  const flop = flopOf(shown, kernel), isRun = isTimed(shown) && kernel.seconds !== undefined;
  return <tr>
    <td class="bar"><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width={worst > 0 ? (100 * share) / worst : 0} height="10" /></svg>
      <span>{isRun ? timeText(kernel.seconds!) : ''}</span></td>
    <td class="number">{shareText(share)}</td>
    <td class="number">{shown.calls.get(kernel.function)}</td>
    <td><a href={`#kernels/${encodeURIComponent(kernel.function)}`}>{kernel.function}</a>
      {kernel.reasons.length > 0 && <span class="bad" title={kernel.reasons.map(({ message }) => message).join('\n')}> {plural(kernel.reasons.length, 'reason')}</span>}</td>
    <td class="number">{flop === undefined ? '' : isRun && kernel.seconds! > 0 ? rateText(flop / kernel.seconds!) : flopText(flop)}</td>
    <td class="quiet">{kernel.kernel ?? (kernel.counted_with ? `counted with ${kernel.counted_with}` : '')}</td>
  </tr>;
}
