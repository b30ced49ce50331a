// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of a mask and the verdicts on them, for any lengths: queries are cut as the compiler cuts them
// (compiler/cpu/attention/AttentionBlocks.cpp).
import type { MaskProgram, Verdict } from './program';

/** How a kernel cuts its pairs: `division` among the facts of an attention. */
export interface Tiling {
  keys: number;
  granule?: number;
  most_queries?: number;
  least_part?: number;
}

/** So many tiles are judged at most, as by the compiler. */
export const mostTiles = 1 << 16;

export interface Judged {
  /** Where tiles begin, and the end of the last. */
  queries: number[];
  keys: number[];
  verdicts: Verdict[][]; // by tiles of queries, then of keys
  empty: number;
  full: number;
  tested: number;
  /** Pairs in tiles that are not empty. */
  pairs: number;
}

function keyStarts(count: number, size: number): number[] {
  const starts = [];
  for (let at = 0; at < count; at += size)
    starts.push(at);
  return [...starts, count];
}

/** Blocks of a part differ by at most one vector of queries. A mask with a period has parts of it. */
function queryStarts(count: number, tiling: Tiling, period: number | undefined): number[] {
  const { granule, most_queries: most } = tiling;
  if (!granule || !most)
    return [0, count];
  const isDivided = tiling.least_part !== undefined && period !== undefined && period >= tiling.least_part && period < count &&
      count % period === 0;
  const part = isDivided ? period : count;
  const vectors = Math.ceil(part / granule), blocks = Math.ceil(vectors / (most / granule));
  const starts = [];
  for (let first = 0; first < count; first += part)
    for (let block = 0; block < blocks; ++block)
      starts.push(first + Math.floor((vectors * block) / blocks) * granule);
  return [...starts, count];
}

/** The tiles of `queries` by `keys` pairs, and how many there would be. Undefined where they are too many. */
export function judge(mask: MaskProgram, tiling: Tiling, queries: number, keys: number): Judged | undefined {
  const rows = queryStarts(queries, tiling, mask.period), columns = keyStarts(keys, tiling.keys);
  if (rows.length * columns.length > mostTiles)
    return undefined;
  const judged: Judged = { queries: rows, keys: columns, verdicts: [], empty: 0, full: 0, tested: 0, pairs: 0 };
  for (let i = 0; i + 1 < rows.length; ++i) {
    const row: Verdict[] = [];
    for (let j = 0; j + 1 < columns.length; ++j) {
      const verdict = mask.judge(rows[i], rows[i + 1], columns[j], columns[j + 1]);
      ++judged[verdict];
      if (verdict !== 'empty')
        judged.pairs += (rows[i + 1] - rows[i]) * (columns[j + 1] - columns[j]);
      row.push(verdict);
    }
    judged.verdicts.push(row);
  }
  return judged;
}
