// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tensor of the checkpoint goes where: a table that is filtered and sorted.
import { useState } from 'preact/hooks';
import type { Target } from '../data';
import { byteText, countText } from '../format';

interface Row { tensor: string; at: string; slot: string; precision: string; form: string; columns: number; layers: number; bytes: number }

function rowsOf(target: Target): Row[] {
  return target.weights.flatMap((slot) => slot.parameters.map(({ tensor, at }) => ({
    tensor, at: at ?? '', slot: slot.slot, precision: slot.precision, columns: slot.columns, layers: slot.layers, bytes: slot.bytes * slot.layers,
    form: slot.panel ? `panels of ${slot.panel}` : 'rows',
  })));
}

const columns: { title: string; of: keyof Row; isNumber?: boolean; text?: (row: Row) => string }[] = [
  { title: 'tensor', of: 'tensor' },
  { title: 'place in the spec', of: 'at' },
  { title: 'precision', of: 'precision' },
  { title: 'stored as', of: 'form' },
  { title: 'layers', of: 'layers', isNumber: true, text: (row) => countText(row.layers) },
  { title: 'bytes', of: 'bytes', isNumber: true, text: (row) => byteText(row.bytes) },
  { title: 'slot', of: 'slot' },
];

const compare = (a: string | number, b: string | number) => (typeof a === 'number' ? a - (b as number) : a.localeCompare(b as string));

export function Bindings({ target }: { target: Target }) {
  const [filter, setFilter] = useState('');
  const [sort, setSort] = useState<{ of: keyof Row; down: boolean } | null>(null);
  const all = rowsOf(target), words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = all.filter((row) => words.every((word) => Object.values(row).some((value) => String(value).toLowerCase().includes(word))));
  if (sort)
    rows.sort((a, b) => (sort.down ? -1 : 1) * compare(a[sort.of], b[sort.of]));
  const slots = new Map(rows.map((row) => [row.slot, row.bytes]));
  const bytes = [...slots.values()].reduce((sum, own) => sum + own, 0);
  return <>
    <p class="controls"><label>Filter <input type="search" value={filter} placeholder="attn.q int8"
        onInput={(event) => setFilter(event.currentTarget.value)} /></label>
      <span aria-live="polite">{rows.length} of {all.length} bindings, {byteText(bytes)} packed</span></p>
    <div class="scroll" tabIndex={0} role="group" aria-label="Bindings"><table class="bindings">
      <thead><tr>{columns.map(({ title, of, isNumber }) => {
        const own = sort?.of === of;
        return <th key={of} class={isNumber ? 'number' : ''} aria-sort={own ? (sort.down ? 'descending' : 'ascending') : 'none'}>
          <button type="button" onClick={() => setSort({ of, down: own ? !sort.down : !!isNumber })}>{title}{own ? (sort.down ? ' ↓' : ' ↑') : ''}</button></th>;
      })}</tr></thead>
      <tbody>{rows.map((row, at) => <tr key={at}>{columns.map(({ of, isNumber, text }) =>
        <td key={of} class={isNumber ? 'number' : ''}>{text ? text(row) : String(row[of])}</td>)}</tr>)}</tbody>
    </table></div>
  </>;
}
