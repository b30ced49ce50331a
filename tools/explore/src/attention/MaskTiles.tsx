// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask as a square of tiles: queries from top to bottom, keys from left to right. The page judges the tiles itself, by the
// mask's formula, which can be written anew, at lengths that are dragged.
import { useMemo, useState } from 'preact/hooks';
import type { Kernel, Shown } from '../data';
import { countText, plural, timeText } from '../format';
import { MaskError } from '../mask/expression';
import type { Verdict } from '../mask/program';
import { type Judged, judge, mostTiles } from '../mask/tiles';
import { type Lengths, lengthsOf, MaskSource } from './maskSource';

const words: Record<Verdict, string> = {
  empty: 'the mask drops every pair, so the tile is passed by',
  full: 'the mask keeps every pair, so it is not tested',
  tested: 'the mask is tested pair by pair',
};

/** The tiles of one verdict as one path: neighbours along keys are one box. */
function pathOf(judged: Judged, verdict: Verdict): string {
  const { queries, keys, verdicts } = judged, parts: string[] = [];
  verdicts.forEach((row, i) => {
    for (let j = 0; j < row.length;) {
      const from = j;
      while (j < row.length && row[j] === verdict)
        ++j;
      if (j > from)
        parts.push(`M${keys[from]} ${queries[i]}H${keys[j]}V${queries[i + 1]}H${keys[from]}Z`);
      else
        ++j;
    }
  });
  return parts.join('');
}

/** Lines between tiles, where these are large enough to be seen. */
function gridOf({ queries, keys }: Judged): string {
  if (queries.length > 80 || keys.length > 80)
    return '';
  const width = keys[keys.length - 1], height = queries[queries.length - 1];
  return queries.map((at) => `M0 ${at}H${width}`).join('') + keys.map((at) => `M${at} 0V${height}`).join('');
}

export function MaskTiles(props: { shown: Shown; kernel: Kernel; choose: (verdict: Verdict) => void }) {
  const source = useMemo(() => new MaskSource(props.shown, props.kernel), [props.shown, props.kernel]);
  const { verdicts, mask } = props.kernel.facts;
  return source.isKnown ? <KnownMask {...props} source={source} /> : <section class="panel mask-tiles" aria-label="Mask">
    <h2>Mask</h2>
    <p>The page has no formula of <code>{String(mask)}</code> that it can judge. The compiler found {countText(verdicts!.empty)} empty,{' '}
      {countText(verdicts!.full)} full and {countText(verdicts!.tested)} tested tiles.</p>
  </section>;
}

function KnownMask(props: { shown: Shown; kernel: Kernel; source: MaskSource; choose: (verdict: Verdict) => void }) {
  const { shown, kernel, source } = props;
  const [lengths, setLengths] = useState<Lengths[]>(() => lengthsOf(shown, kernel));
  const [text, setText] = useState(source.text);
  const [tile, setTile] = useState<[number, number]>();
  const { judged, error } = useMemo(() => {
    try {
      const at = source.at(text, lengths);
      return { judged: judge(at.program, source.tiling, at.queries, at.keys), error: undefined };
    } catch (problem) {
      if (!(problem instanceof MaskError))
        throw problem;
      return { judged: undefined, error: problem };
    }
  }, [source, text, lengths]);
  const change = (at: number, value: number) => {
    setTile(undefined);
    setLengths(lengths.map((one, n) => n === at ? { ...one, value } : one));
  };
  const isOwn = text === source.text;
  return <section class="panel mask-tiles" aria-label="Mask">
    <h2>Mask</h2>
    <label class="editor">A pair of the query <code>i</code> and the key <code>j</code> counts where{' '}
      <input class="code" value={text} spellcheck={false} aria-invalid={error !== undefined} aria-describedby="mask-message"
             onInput={(event) => { setTile(undefined); setText(event.currentTarget.value); }} />
    </label>
    {!isOwn && <button type="button" onClick={() => { setTile(undefined); setText(source.text); }}>As the spec has it</button>}
    {lengths.map((one, at) => <label key={one.label} class="length">
      <span>{one.label} = <b>{one.value}</b></span>
      <input type="range" min={1} max={one.most} value={one.value} onInput={(event) => change(at, Number(event.currentTarget.value))} />
    </label>)}
    <p id="mask-message" role="status" class={error ? 'bad' : ''}>
      {error ? <>{error.message}<br /><code class="where">{text.slice(0, error.at)}<mark>{text.slice(error.at) || ' '}</mark></code></>
       : judged ? <Counts judged={judged} />
       : `More than ${countText(mostTiles)} tiles: the compiler judges them when running.`}
    </p>
    {judged && <Square judged={judged} tile={tile} choose={(next) => {
      setTile(next);
      props.choose(judged.verdicts[next[0]][next[1]]);
    }} />}
    {judged && tile && <Tile shown={shown} kernel={kernel} judged={judged} tile={tile} source={source} text={text} lengths={lengths}
                             isMeasured={isOwn && source.isMeasuredAt(lengths)} />}
  </section>;
}

function Counts({ judged }: { judged: Judged }) {
  const { queries, keys, empty, full, tested, pairs } = judged;
  const all = queries[queries.length - 1] * keys[keys.length - 1];
  return <>Of {queries.length - 1} × {plural(keys.length - 1, 'tile')} <Key verdict="empty" /> {countText(empty)} empty,{' '}
    <Key verdict="full" /> {countText(full)} full, <Key verdict="tested" /> {countText(tested)} tested:{' '}
    <b>{pairs === 0 ? 'no work' : `${(all / pairs).toFixed(1)}× less work`}</b> than without a mask.</>;
}

function Key({ verdict }: { verdict: Verdict }) {
  return <svg class="key" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
    <rect class={verdict} width="12" height="12" />{verdict === 'tested' && <path class="hatch-line" d="M0 6L6 0M0 12L12 0M6 12L12 6" />}</svg>;
}

function Square(props: { judged: Judged; tile?: [number, number]; choose: (tile: [number, number]) => void }) {
  const { judged, tile } = props;
  const { queries, keys } = judged, width = keys[keys.length - 1], height = queries[queries.length - 1];
  const paths = useMemo(() => ({ full: pathOf(judged, 'full'), tested: pathOf(judged, 'tested'), grid: gridOf(judged) }), [judged]);
  const find = (starts: number[], at: number) => Math.max(0, Math.min(starts.length - 2, starts.findIndex((start) => start > at) - 1));
  const press = (event: KeyboardEvent) => {
    const moves: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = moves[event.key];
    if (!move)
      return;
    event.preventDefault();
    const [i, j] = tile ?? [-move[0], -move[1]];
    props.choose([Math.max(0, Math.min(queries.length - 2, i + move[0])), Math.max(0, Math.min(keys.length - 2, j + move[1]))]);
  };
  const pick = (event: MouseEvent & { currentTarget: SVGSVGElement }) => {
    const box = event.currentTarget.getBoundingClientRect();
    const y = ((event.clientY - box.top) / box.height) * height, x = ((event.clientX - box.left) / box.width) * width;
    props.choose([find(queries, Math.max(0, y)), find(keys, Math.max(0, x))]);
  };
  return <div class="square" tabIndex={0} role="application" aria-label="Tiles of the mask: arrow keys choose one" onKeyDown={press}>
    <span class="axis keys">keys 0 … {countText(width - 1)} →</span>
    <span class="axis queries">queries 0 … {countText(height - 1)} →</span>
    <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" style={`aspect-ratio: ${Math.min(12, Math.max(1, width / height))}`}
         role="img" aria-label="Empty tiles are white, full ones dark, tested ones hatched" onClick={pick}>
      <defs>
        <pattern id="hatch" width={width / 90} height={height / 90} patternUnits="userSpaceOnUse">
          <rect class="hatch-back" width={width / 90} height={height / 90} />
          <path class="hatch-line" d={`M0 ${height / 90}L${width / 90} 0`} vector-effect="non-scaling-stroke" />
        </pattern>
      </defs>
      <path class="full" d={paths.full} />
      <path class="tested" d={paths.tested} />
      <path class="grid" d={paths.grid} vector-effect="non-scaling-stroke" />
      {tile && <rect class="chosen" x={keys[tile[1]]} y={queries[tile[0]]} width={keys[tile[1] + 1] - keys[tile[1]]}
                     height={queries[tile[0] + 1] - queries[tile[0]]} vector-effect="non-scaling-stroke" />}
    </svg>
  </div>;
}

/** One tile: what is done with it, and its pairs. */
function Tile(props: { shown: Shown; kernel: Kernel; judged: Judged; tile: [number, number]; source: MaskSource; text: string; lengths: Lengths[];
                       isMeasured: boolean }) {
  const { shown, kernel, judged, tile: [i, j], source, text, lengths } = props;
  const [from, to] = [judged.queries[i], judged.queries[i + 1]], [first, last] = [judged.keys[j], judged.keys[j + 1]];
  const verdict = judged.verdicts[i][j];
  const { live, path } = useMemo(() => {
    const { program } = source.at(text, lengths);
    let live: number | undefined = 0, path = '';
    for (let query = from; query < to; ++query)
      for (let key = first; key < last; ++key) {
        const isLive = program.isLive(query, key);
        if (isLive === undefined)
          return { live: undefined, path: '' };
        if (isLive)
          ++live, path += `M${key - first} ${query - from}h1v1h-1Z`;
      }
    return { live, path };
  }, [source, text, lengths, from, to, first, last]);
  const heads = Number(kernel.facts.heads);
  const time = props.isMeasured && kernel.seconds && kernel.calls && heads
    ? kernel.seconds / kernel.calls / heads / (judged.full + judged.tested) : undefined;
  return <div class="tile" aria-live="polite">
    {live !== undefined && <svg viewBox={`-0.5 -0.5 ${last - first + 1} ${to - from + 1}`} role="img" aria-label="Live pairs of the tile">
      <rect class="empty" width={last - first} height={to - from} /><path class="full" d={path} />
    </svg>}
    <p>Queries {from} to {to - 1}, keys {first} to {last - 1}: <b>{verdict}</b>. {words[verdict]}.
      {live !== undefined && ` ${countText(live)} of ${plural((to - from) * (last - first), 'pair')} count.`}
      {time !== undefined && verdict !== 'empty' && ` A live tile takes ${timeText(time)} on average (the time of the kernel by its live tiles).`}{' '}
      <a href={`#kernels/${encodeURIComponent(kernel.function)}?${verdict}`}>{verdict === 'empty' ? 'The loop that passes it by' : 'The loop that works on it'}</a>
      <span class="quiet"> of {shown.target.name}</span>
    </p>
  </div>;
}
