// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The view of the model: its graph with numbers on it, its errors where there was a run, its memory plan and its bindings.
import { useMemo, useState } from 'preact/hooks';
import { type Comparison, type Explanation, kernelAddress, lineAt, type Shown } from '../data';
import { byteText, errorText, flopText, shareText, timeText } from '../format';
import type { ViewProps } from '../main';
import { Bindings } from './Bindings';
import { Errors } from './Errors';
import { allNodes, type Flow, type FlowNode, flowOf, type Measure, total } from './flow';
import { Graph, type Mark } from './Graph';
import { Memory } from './Memory';
import { errorHeat, errorsOf, type StepErrors } from './stepErrors';

type Colour = Measure | 'error';
const measures: { colour: Measure; name: string; text: (amount: number) => string }[] = [
  { colour: 'seconds', name: 'time', text: timeText },
  { colour: 'flop', name: 'operations', text: flopText },
  { colour: 'bytes', name: 'bytes', text: byteText },
];

/** What a run compared of an entry in one of its calls. */
const outputsOf = (run: Comparison | undefined, entry: string, call: string) =>
    run?.results.filter((own) => own.entry === entry && own.call === call) ?? [];

/** As many steps as are shown at first. */
const atFirst = 16;
/** And as many nodes as are unfolded at once: their places take a while. */
const mostAtOnce = 150;

/** Unfolds the costliest block, and in it the costliest again, as long as the picture stays small. */
function firstOpen(flow: Flow, measure: Measure): Set<string> {
  const open = new Set<string>();
  const count = (nodes: FlowNode[]) => nodes.filter((node) => node.kind !== 'port').length;
  let steps = count(flow.nodes), next = flow.nodes;
  for (;;) {
    const block = next.filter((node) => node.inside).sort((a, b) => b.amount[measure] - a.amount[measure])[0];
    if (!block || steps + count(block.inside!.nodes) > atFirst)
      return open;
    open.add(block.key);
    steps += count(block.inside!.nodes);
    next = block.inside!.nodes;
  }
}

function About({ node, explanation, whole, errors }: {
  node: FlowNode; explanation: Explanation; whole: { [measure in Measure]: number }; errors?: StepErrors;
}) {
  const { kernel } = node, place = kernel?.at;
  return <>
    <h3>{node.title}</h3>
    <p>{kernel?.text ?? node.detail}</p>
    <dl class="facts">
      {node.calls !== 1 && <><dt>calls</dt><dd>{node.calls ?? 'as often as a run decides'}</dd></>}
      {measures.filter(({ colour }) => whole[colour] && node.amount[colour]).map(({ colour, name, text }) => <>
        <dt>{name}</dt><dd>{text(node.amount[colour])}, {shareText(node.amount[colour] / whole[colour])}</dd>
      </>)}
      {errors && <><dt>error</dt><dd>{errors.isNumber ? errorText(errors.worst) : 'no number'}, of {errors.outputs.map((own) => own.output).slice(0, 8).join(', ')}
        {errors.outputs.length > 8 && ' …'}</dd></>}
      {node.weights && <><dt>weights</dt><dd>{node.weights.join(', ')}</dd></>}
      {place && <><dt>place</dt><dd><code>{place}</code></dd></>}
    </dl>
    {place && <pre>{lineAt(explanation, place)}</pre>}
    {kernel && <p><a href={kernelAddress(node.function)}>The kernel</a></p>}
  </>;
}

/** Which measures the nodes of a flow have. */
function coloursOf(flow: Flow, hasErrors: boolean): Colour[] {
  const found: Colour[] = measures.map(({ colour }) => colour).filter((colour) => total(flow, colour) > 0);
  return hasErrors ? ['error', ...found] : found;
}

function GraphOfEntry({ shown: { explanation, target, entry }, run, call }: { shown: Shown; run?: Comparison; call: string }) {
  const flow = useMemo(() => flowOf(target, entry), [target, entry]);
  const errors = useMemo(() => errorsOf(flow, outputsOf(run, entry, call)), [flow, run, entry, call]);
  const colours = coloursOf(flow, errors.size > 0);
  const whole = { seconds: total(flow, 'seconds'), flop: total(flow, 'flop'), bytes: total(flow, 'bytes') };
  const [asked, ask] = useState<Colour | null>(null);
  const colour = asked && colours.includes(asked) ? asked : colours[0];
  const measure = measures.find((own) => own.colour === colour);
  const [open, setOpen] = useState<ReadonlySet<string>>(() => firstOpen(flow, measure?.colour ?? 'flop'));
  const [looked, look] = useState<FlowNode | null>(null);
  const toggle = (node: FlowNode) => {
    const next = new Set(open);
    if (!next.delete(node.key))
      next.add(node.key);
    setOpen(next);
  };
  const mark = (node: FlowNode): Mark | undefined => {
    if (colour === 'error') {
      const own = errors.get(node.key);
      return own && { text: own.isNumber ? errorText(own.worst) : 'no number', heat: errorHeat(own), isBad: !own.isNumber };
    }
    if (!measure || !node.amount[measure.colour] || !whole[measure.colour])
      return undefined;
    const share = node.amount[measure.colour] / whole[measure.colour];
    return { text: shareText(share), heat: share, bar: share };
  };
  const nodes = [...allNodes(flow)], blocks = nodes.filter((node) => node.inside);
  return <>
    <div class="controls">
      {colours.length > 0 && <fieldset><legend>Coloured by</legend>{colours.map((own) => <label key={own}>
        <input type="radio" name="colour" checked={own === colour} onChange={() => ask(own)} />
        {own === 'error' ? 'relative error' : 'share of ' + measures.find((one) => one.colour === own)!.name}</label>)}</fieldset>}
      {measure && <span>{measure.text(whole[measure.colour])} in all</span>}
      {blocks.length > 0 && <button type="button" onClick={() => setOpen(new Set())} disabled={open.size === 0}>Fold all</button>}
      {blocks.length > 0 && nodes.length <= mostAtOnce && <button type="button" onClick={() => setOpen(new Set(blocks.map((node) => node.key)))}
        disabled={open.size === blocks.length}>Unfold all</button>}
    </div>
    <div class="beside">
      <Graph flow={flow} name={entry} open={open} mark={mark} onToggle={toggle} onLook={look} />
      <aside aria-label="The step that is pointed at">{looked ?
        <About node={looked} explanation={explanation} whole={whole} errors={errors.get(looked.key)} /> :
        <p>Point at a step to see what it does. A click on a kernel leads to its page, one on a block unfolds it.</p>}</aside>
    </div>
  </>;
}

function OfEntry({ shown }: { shown: Shown }) {
  const { explanation, entry } = shown;
  const runs = explanation.comparisons ?? [];
  const [chosen, choose] = useState(0);
  const run = runs[chosen], calls = [...new Set(run?.results.filter((own) => own.entry === entry).map((own) => own.call))];
  const [asked, ask] = useState('');
  const call = calls.includes(asked) ? asked : calls[0] ?? '';
  return <div class="model stack">
    <section class="panel"><h2>Graph of <code>{entry}</code></h2>
      <GraphOfEntry {...{ shown, run, call }} />
    </section>
    {run && <section class="panel"><h2>Errors</h2>
      <p class="controls">
        {runs.length > 1 && <label>Run <select value={chosen} onChange={(event) => choose(Number(event.currentTarget.value))}>
          {runs.map((own, at) => <option key={at} value={at}>{own.file}</option>)}</select></label>}
        {calls.length > 1 && <label>Call <select value={call} onChange={(event) => ask(event.currentTarget.value)}>
          {calls.map((own) => <option key={own} value={own}>{own}</option>)}</select></label>}
      </p>
      {call ? <Errors run={run} outputs={outputsOf(run, entry, call)} /> : <p>This run compared nothing of {entry}.</p>}
    </section>}
    <section class="panel"><h2>Memory plan</h2><Memory shown={shown} /></section>
    <section class="panel"><h2>Bindings</h2><Bindings target={shown.target} /></section>
  </div>;
}

export function ModelView({ shown }: ViewProps) {
  return <OfEntry key={`${shown.index} ${shown.target.name} ${shown.entry}`} shown={shown} />;
}
