// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph of an entry as a picture: steps and blocks that unfold, coloured by what they cost or how far they are off.
import { useMemo } from 'preact/hooks';
import { kernelAddress } from '../data';
import { byteText } from '../format';
import type { Flow, FlowNode } from './flow';
import { type Box, frame, type Layout, layoutOf, type Line } from './layout';

/** What a node shows beside its name: words, and a colour from 0 to 1. */
export interface Mark { text: string; heat: number; isBad?: boolean; bar?: number }

interface Props {
  flow: Flow;
  name: string;
  open: ReadonlySet<string>;
  mark: (node: FlowNode) => Mark | undefined;
  onToggle: (node: FlowNode) => void;
  onLook: (node: FlowNode) => void;
}

const room = 37; // characters of a line of a node
const short = (text: string, most: number) => (text.length > most ? text.slice(0, most - 1) + '…' : text);
const callsText = (node: FlowNode) => (node.calls === 1 ? '' : `${node.calls ?? 'many'} × `);

/** A line through points, its corners rounded. */
function pathOf({ points }: Line): string {
  let path = `M${points[0].x} ${points[0].y}`;
  for (let at = 1; at + 1 < points.length; ++at) {
    const { x, y } = points[at], next = points[at + 1];
    path += ` Q${x} ${y} ${(x + next.x) / 2} ${(y + next.y) / 2}`;
  }
  const last = points[points.length - 1];
  return `${path} L${last.x} ${last.y}`;
}

function Words({ box, mark }: { box: Box; mark?: Mark }) {
  const { node } = box, number = mark?.text ?? '';
  const title = callsText(node) + node.title;
  return <>
    <text x={node.inside ? 28 : 12} y={21} class="name">{short(title, room - (node.inside ? 6 : 4) - number.length)}</text>
    {number && <text x={box.width - 12} y={21} class="number" text-anchor="end">{number}</text>}
    {!box.inside && <text x={12} y={39} class="detail">{short(node.detail, room)}</text>}
  </>;
}

/** What a screen reader says of a node. */
function spoken(node: FlowNode, mark?: Mark): string {
  return [callsText(node) + node.title, mark?.text, node.detail].filter(Boolean).join(', ');
}

function Node({ box, ...props }: Props & { box: Box }) {
  const { node } = box, mark = props.mark(node), isOpen = !!box.inside;
  const look = { onMouseEnter: () => props.onLook(node), onFocus: () => props.onLook(node) };
  const style = { '--heat': `${Math.round(100 * (isOpen ? 0 : mark?.heat ?? 0))}%` };
  // The label says it all.
  const shape = <g aria-hidden="true">
    <rect width={box.width} height={isOpen ? frame.head : box.height} rx={5} class="shape" style={style} />
    {mark?.bar !== undefined && !isOpen && <rect x={0} y={box.height - 4} width={box.width * mark.bar} height={4} class="bar" />}
    <Words box={box} mark={mark} />
    {node.inside && <path d={isOpen ? 'M0 1h10l-5 8z' : 'M1 0l8 5l-8 5z'} transform={`translate(11 12)`} class="toggle" />}
    <title>{spoken(node, mark)}</title>
  </g>;
  const where = `translate(${box.x} ${box.y})`;
  if (node.kind === 'kernel')
    return <g transform={where}>
      <a href={kernelAddress(node.function)} class={`node kernel${mark?.isBad ? ' bad' : ''}`} data-key={node.key}
        aria-label={spoken(node, mark)} {...look}>{shape}</a>
    </g>;
  if (node.kind === 'port')
    return <g class="node port" transform={where}>
      <rect width={box.width} height={box.height} rx={14} class="shape" />
      <text x={box.width / 2} y={19} text-anchor="middle" class="name">{short(node.title, 18)}</text>
    </g>;
  const toggle = () => props.onToggle(node);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== ' ')
      return;
    event.preventDefault();
    toggle();
  };
  return <g transform={where} class={`block${isOpen ? ' open' : ''}`}>
    {isOpen && <rect width={box.width} height={box.height} rx={5} class="around" />}
    <g role="button" tabIndex={0} aria-expanded={isOpen} aria-label={spoken(node, mark)} class={`node${mark?.isBad ? ' bad' : ''}`}
        data-key={node.key} onClick={toggle} onKeyDown={onKeyDown} {...look}>
      {!isOpen && <rect x={5} y={5} width={box.width} height={box.height} rx={5} class="shape under" />}
      {shape}
    </g>
    {box.inside && <g transform={`translate(${(box.width - box.inside.width) / 2} ${frame.head + frame.space})`}>
      <Picture {...props} layout={box.inside} />
    </g>}
  </g>;
}

function Picture({ layout, ...props }: Props & { layout: Layout }) {
  return <>
    {layout.lines.map((line) => <path key={line.edge.from + line.edge.to} d={pathOf(line)} class={line.edge.later ? 'edge later' : 'edge'} marker-end="url(#arrow)">
      {line.edge.bytes !== undefined && <title>{byteText(line.edge.bytes)}</title>}
    </path>)}
    {layout.boxes.map((box) => <Node key={box.node.key} box={box} {...props} />)}
  </>;
}

export function Graph(props: Props) {
  const layout = useMemo(() => layoutOf(props.flow, props.open), [props.flow, props.open]);
  const margin = 10, width = layout.width + 2 * margin, height = layout.height + 2 * margin;
  return <div class="graph" tabIndex={0} role="group" aria-label={`The graph of ${props.name}`}>
    <svg width={width} height={height} viewBox={`${-margin} ${-margin} ${width} ${height}`}>
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX={7} refY={4} markerWidth={7} markerHeight={7} orient="auto">
          <path d="M0 0L8 4L0 8z" class="arrow" />
        </marker>
      </defs>
      <Picture {...props} layout={layout} />
    </svg>
  </div>;
}
