// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page of `attn explore`: takes the data out of the page, and shows it. What is shown stands in the address behind `#`:
// `#kernels/Layer.y`.
import { render } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { AttentionView } from './attention/AttentionView';
import { CompareView } from './compare/CompareView';
import { readData, type Shown, show, targetsOf } from './data';
import { KernelsView } from './kernels/KernelsView';
import { ModelView } from './model/ModelView';

/** What a view is given: what it shows, and what of it (`Layer.y` of `#kernels/Layer.y`), empty at first. */
export interface ViewProps {
  shown: Shown;
  chosen: string;
}

interface View {
  name: string;
  title: string;
  view: (props: ViewProps) => preact.JSX.Element;
  has: (shown: Shown) => boolean;
}

const views: View[] = [
  { name: 'attention', title: 'Attention', view: AttentionView, has: ({ target }) => target.kernels.some(({ facts }) => facts.kind === 'attention') },
  { name: 'kernels', title: 'Kernels', view: KernelsView, has: () => true },
  { name: 'model', title: 'Model', view: ModelView, has: () => true },
  { name: 'compare', title: 'Comparison', view: CompareView, has: ({ data }) => data.diff !== null },
];

function Choice(props: { label: string; options: string[]; chosen: number; choose: (at: number) => void }) {
  if (props.options.length < 2)
    return null;
  return <label class="choice">{props.label}{' '}
    <select value={props.chosen} onChange={(event) => props.choose(Number(event.currentTarget.value))}>
      {props.options.map((option, at) => <option key={option} value={at}>{option}</option>)}
    </select>
  </label>;
}

/** What stands behind `#`; as it is, where it is no encoded text. */
function shownHash(): string {
  const text = location.hash.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const data = readData();
const targets = targetsOf(data);

function Page() {
  const [hash, setHash] = useState(shownHash);
  const [at, setAt] = useState(0);
  const [entry, setEntry] = useState<string>();
  useEffect(() => {
    const follow = () => setHash(shownHash());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  const shown = useMemo(() => show(data, at, entry), [at, entry]);
  const own = views.filter(({ has }) => has(shown));
  const [name, ...rest] = hash.split('/');
  const view = own.find((one) => one.name === name) ?? own[0];
  const { explanation, target } = shown;
  useEffect(() => {
    document.title = `${view.title} · ${explanation.model.name}`;
  }, [view, explanation]);
  const names = target.entries.map((one) => one.name);
  const sizes = Object.entries(explanation.sizes).map(([dim, size]) => `${dim} = ${size}`).join(', ');
  const { view: Shown } = view;
  return <>
    <header>
      <h1>{explanation.model.name}</h1>
      <nav aria-label="Views">
        {own.map((one) => <a key={one.name} href={`#${one.name}`} aria-current={one === view ? 'page' : undefined}>{one.title}</a>)}
      </nav>
      <div class="choices">
        <Choice label="Target" options={targets.map(({ label }) => label)} chosen={at} choose={(next) => { setAt(next); setEntry(undefined); }} />
        <Choice label="Entry" options={names} chosen={names.indexOf(shown.entry)} choose={(next) => setEntry(names[next])} />
      </div>
      <p class="about">{explanation.spec} for {target.name}{explanation.model.precision ? `, ${explanation.model.precision}` : ''}{sizes && ` · ${sizes}`}</p>
    </header>
    <Shown shown={shown} chosen={rest.join('/')} />
  </>;
}

render(<Page />, document.getElementById('app')!);
