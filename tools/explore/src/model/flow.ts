// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An entry of a target as a tree of graphs: its steps, and in each block the steps of that. With what each step costs of the
// entry, so that equal layers are drawn once, with the cost of all.
import { countCalls, type Graph, type Kernel, type Step, type Target } from '../data';

/** What nodes are coloured by. */
export type Measure = 'seconds' | 'flop' | 'bytes';

/** A step, or what goes into a function or comes out of it: its inputs, outputs and caches. */
export interface FlowNode {
  key: string; // path of ids from the entry
  kind: 'kernel' | 'block' | 'port';
  function: string;
  title: string;
  detail: string;
  calls: number | null; // by what is around it
  kernel?: Kernel;
  weights?: string[]; // slots that it reads
  inside?: Flow; // of a block
  amount: { [measure in Measure]: number }; // of all calls of the entry together
}

/** Data from one node to another; `later` is what the turn of a loop before has written. */
export interface FlowEdge { from: string; to: string; bytes?: number; later?: boolean }
export interface Flow { function: string; nodes: FlowNode[]; edges: FlowEdge[] }

const none = () => ({ seconds: 0, flop: 0, bytes: 0 });

/** "attn.q" of "Gpt2Layer.attn.q" in "Gpt2Layer". */
function shortName(name: string, around: string): string {
  return name.startsWith(around + '.') ? name.slice(around.length + 1) : name;
}

/** Builds the flow of one entry. */
class Builder {
  private readonly kernels: Map<string, Kernel>;
  private readonly graphs: Map<string, Graph>;
  private readonly calls = new Map<string, number>(); // of kernels in the entry

  constructor(target: Target, steps: Step[]) {
    this.kernels = new Map(target.kernels.map((kernel) => [kernel.function, kernel]));
    this.graphs = new Map((target.graphs ?? []).map((graph) => [graph.function, graph]));
    countCalls(steps, 1, this.calls);
  }

  /** Costs of `times` calls. A run measured all calls of a kernel together. */
  private cost(kernel: Kernel, times: number) {
    return {
      seconds: (kernel.seconds ?? 0) * times / (this.calls.get(kernel.function) ?? times),
      flop: (kernel.flop ?? 0) * times,
      bytes: (kernel.bytes ?? 0) * times,
    };
  }

  private node(step: Step, key: string, around: string, factor: number): FlowNode {
    const times = factor * (step.calls ?? 1), kernel = this.kernels.get(step.function);
    const title = shortName(step.function, around);
    if (kernel)
      return {
        key, kind: 'kernel', function: step.function, title, detail: kernel.kernel ?? 'counted with ' + kernel.counted_with,
        calls: step.calls, kernel, amount: this.cost(kernel, times),
      };
    const inside = this.build(step.function, step.steps ?? [], key, times);
    const amount = none();
    for (const { amount: own } of inside.nodes)
      for (const measure of Object.keys(amount) as Measure[])
        amount[measure] += own[measure];
    const steps = inside.nodes.filter((own) => own.kind !== 'port').length;
    return {
      key, kind: 'block', function: step.function, title, detail: `${steps} ${steps === 1 ? 'step' : 'steps'}`, calls: step.calls,
      inside, amount,
    };
  }

  /** The graph of a function; without one, its steps one after the other. */
  build(name: string, steps: Step[], path: string, factor: number): Flow {
    const graph = this.graphs.get(name);
    if (!graph) {
      const nodes = steps.map((step, at) => this.node(step, `${path}/${at}`, name, factor));
      return { function: name, nodes, edges: nodes.slice(1).map((node, at) => ({ from: nodes[at].key, to: node.key })) };
    }
    // Steps of a block stand with its call; what was taken is not taken again.
    const rest = [...steps];
    const key = (id: number) => `${path}/${id}`;
    const nodes = graph.nodes.map((own): FlowNode => {
      if (!own.function)
        return {
          key: key(own.id), kind: 'port', function: '', title: own.text && own.text !== own.kind ? `${own.kind} ${own.text}` : own.kind, detail: '',
          calls: 1, amount: none(),
        };
      const at = rest.findIndex((step) => step.function === own.function);
      const step = at < 0 ? { function: own.function, calls: own.calls ?? 1 } : rest.splice(at, 1)[0];
      return { ...this.node(step, key(own.id), name, factor), weights: own.weights };
    });
    return { function: name, nodes, edges: graph.edges.map(([from, to, data]) => ({ from: key(from), to: key(to), ...data })) };
  }
}

/** The flow of the entry `name`. */
export function flowOf(target: Target, name: string): Flow {
  const steps = target.entries.find((entry) => entry.name === name)?.steps ?? [];
  return new Builder(target, steps).build(name, steps, '', 1);
}

/** All nodes of a flow, and of what is in it. */
export function* allNodes(flow: Flow): Generator<FlowNode> {
  for (const node of flow.nodes) {
    yield node;
    if (node.inside)
      yield* allNodes(node.inside);
  }
}

/** What the steps of a flow cost together. */
export const total = (flow: Flow, measure: Measure) => flow.nodes.reduce((sum, node) => sum + node.amount[measure], 0);
