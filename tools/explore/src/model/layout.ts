// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places of nodes and edges, in pixels from the top left of the graph: open blocks first, so that what is around them knows
// their size.
import * as dagre from '@dagrejs/dagre';
import type { Flow, FlowEdge, FlowNode } from './flow';

export interface Point { x: number; y: number }
/** A node and where it is; an open block with what is in it, whose places count from the top left of the block. */
export interface Box { node: FlowNode; x: number; y: number; width: number; height: number; inside?: Layout }
export interface Line { edge: FlowEdge; points: Point[] }
export interface Layout { width: number; height: number; boxes: Box[]; lines: Line[] }

export const step = { width: 268, height: 52 };
/** Of an open block: the line with its name, and the space around what is in it. */
export const frame = { head: 36, space: 14 };
const port = { width: 150, height: 28 };
const gap = 26;

/** Whether each node leads to the next one alone. */
function isChain(flow: Flow): boolean {
  return flow.edges.length === flow.nodes.length - 1 &&
      flow.edges.every((edge, at) => edge.from === flow.nodes[at].key && edge.to === flow.nodes[at + 1].key);
}

function boxOf(node: FlowNode, open: ReadonlySet<string>): Box {
  if (node.inside && open.has(node.key)) {
    const inside = layoutOf(node.inside, open);
    return {
      node, x: 0, y: 0, inside, width: Math.max(step.width, inside.width + 2 * frame.space),
      height: inside.height + frame.head + 2 * frame.space,
    };
  }
  return { node, x: 0, y: 0, ...(node.kind === 'port' ? port : step) };
}

/** Nodes below each other. */
function stacked(flow: Flow, boxes: Box[]): Layout {
  const width = Math.max(0, ...boxes.map((box) => box.width));
  let y = 0;
  for (const box of boxes) {
    box.x = (width - box.width) / 2;
    box.y = y;
    y += box.height + gap;
  }
  const lines = flow.edges.map((edge, at) => ({
    edge, points: [{ x: width / 2, y: boxes[at].y + boxes[at].height }, { x: width / 2, y: boxes[at + 1].y }],
  }));
  return { width, height: Math.max(0, y - gap), boxes, lines };
}

/** The last layout of each flow, and the blocks that were open in it: most stay as they are when another one unfolds. */
const known = new WeakMap<Flow, { open: string; layout: Layout }>();

/** Keys of the open blocks that are seen of a flow. */
function openIn(flow: Flow, open: ReadonlySet<string>): string {
  return flow.nodes.map((node) => (node.inside && open.has(node.key) ? `${node.key} ${openIn(node.inside, open)}` : '')).join('');
}

/** The layout of a flow, with the blocks whose keys are in `open` unfolded. */
export function layoutOf(flow: Flow, open: ReadonlySet<string>): Layout {
  const own = openIn(flow, open), before = known.get(flow);
  if (before?.open === own)
    return before.layout;
  const layout = place(flow, open);
  known.set(flow, { open: own, layout });
  return layout;
}

function place(flow: Flow, open: ReadonlySet<string>): Layout {
  const boxes = flow.nodes.map((node) => boxOf(node, open));
  if (isChain(flow))
    return stacked(flow, boxes);
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'TB', nodesep: 24, ranksep: gap + 4, edgesep: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of boxes)
    graph.setNode(box.node.key, { width: box.width, height: box.height });
  flow.edges.forEach((edge, at) => graph.setEdge(edge.from, edge.to, {}, String(at)));
  dagre.layout(graph);
  for (const box of boxes) {
    const at = graph.node(box.node.key);
    box.x = at.x! - box.width / 2;
    box.y = at.y! - box.height / 2;
  }
  const lines = flow.edges.map((edge, at) => ({ edge, points: graph.edge(edge.from, edge.to, String(at)).points! }));
  const whole = graph.graph();
  return { width: whole.width ?? 0, height: whole.height ?? 0, boxes, lines };
}
