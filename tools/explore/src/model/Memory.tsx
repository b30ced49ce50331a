// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory plan of a function: each buffer a rectangle, as wide as it is needed and as high as it has bytes.
import { useState } from 'preact/hooks';
import { type Explanation, type Frame, lineAt, type Shown } from '../data';
import { byteText, countText } from '../format';

const size = { width: 700, height: 320, left: 76, bottom: 34, top: 10 };

/** Round numbers of bytes up to `most`, for the axis. */
function ticks(most: number): number[] {
  const rough = most / 4, power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((own) => own * power).find((own) => own >= rough) ?? power;
  const found: number[] = [];
  for (let at = 0; at <= most; at += step)
    found.push(at);
  return found;
}

/** Steps at which something is said on the axis: at most twelve. */
function stepTicks(steps: number): number[] {
  const each = Math.max(1, Math.ceil(steps / 12));
  return Array.from({ length: Math.floor(steps / each) + 1 }, (_, at) => at * each);
}

function Plan({ explanation, workspace }: { explanation: Explanation; workspace: Frame }) {
  const [looked, look] = useState(-1);
  const steps = Math.max(1, ...workspace.buffers.map((buffer) => buffer.until));
  const inner = { width: size.width - size.left - 10, height: size.height - size.bottom - size.top };
  const x = (at: number) => size.left + inner.width * at / steps;
  const y = (bytes: number) => size.top + inner.height * (1 - bytes / Math.max(1, workspace.bytes));
  const says = (at: number) => {
    const { bytes, offset, from, until } = workspace.buffers[at];
    return `${byteText(bytes)} from byte ${countText(offset)} on, needed in steps ${from} to ${until - 1}`;
  };
  const own = workspace.buffers[looked];
  return <>
    <div class="plan" tabIndex={0} role="group" aria-label={`Memory plan of ${workspace.function}`}>
      <svg width={size.width} height={size.height}>
        {ticks(workspace.bytes).map((bytes) => <g key={bytes}>
          <line x1={size.left} x2={size.width - 10} y1={y(bytes)} y2={y(bytes)} class="rule" />
          <text x={size.left - 8} y={y(bytes) + 4} text-anchor="end" class="axis">{byteText(bytes)}</text>
        </g>)}
        {stepTicks(steps).map((at) => <text key={at} x={x(at)} y={size.height - 16} text-anchor="middle" class="axis">{at}</text>)}
        <text x={size.width - 10} y={size.height - 2} text-anchor="end" class="axis">step</text>
        {workspace.buffers.map((buffer, at) => {
          const height = Math.max(2, y(buffer.offset) - y(buffer.offset + buffer.bytes)), width = Math.max(3, x(buffer.until) - x(buffer.from) - 1);
          return <g key={at} role="img" tabIndex={0} aria-label={says(at)} class={`buffer${at === looked ? ' looked' : ''}`}
              onMouseEnter={() => look(at)} onFocus={() => look(at)}>
            <rect x={x(buffer.from)} y={y(buffer.offset) - height} width={width} height={height} />
            {width > 70 && height > 16 && <text x={x(buffer.from) + 6} y={y(buffer.offset) - height / 2 + 4}>{byteText(buffer.bytes)}</text>}
          </g>;
        })}
      </svg>
    </div>
    <p class="says" aria-live="polite">{own ? <>{says(looked)}.<br /><code>{own.at}</code> <code>{lineAt(explanation, own.at)}</code></> :
      'A rectangle is a buffer: its width is when it is needed, its height its bytes. Point at one to see where it comes from.'}</p>
  </>;
}

export function Memory({ shown: { explanation, target, entry } }: { shown: Shown }) {
  const [chosen, choose] = useState('');
  const workspace = target.memory.find((own) => own.function === chosen) ?? target.memory.find((own) => own.function === entry) ?? target.memory[0];
  if (!workspace)
    return <p>{target.name} has no memory plan.</p>;
  return <>
    <p class="controls"><label>Workspace of <select value={workspace.function} onChange={(event) => choose(event.currentTarget.value)}>
      {target.memory.map((own) => <option key={own.function} value={own.function}>{own.function}</option>)}
    </select></label> <span>{byteText(workspace.bytes)} on one thread, in {workspace.buffers.length} {workspace.buffers.length === 1 ? 'buffer' : 'buffers'}</span></p>
    {workspace.buffers.length ? <Plan key={workspace.function} explanation={explanation} workspace={workspace} /> :
      <p>{workspace.function} takes no memory of its own.</p>}
  </>;
}
