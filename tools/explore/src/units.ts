// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers as text, as `attn explain` writes them.

function scaled(value: number, units: string[], step: number): string {
  let at = 0;
  while (value >= step && at + 1 < units.length) {
    value /= step;
    ++at;
  }
  const digits = at === 0 && Number.isInteger(value) ? 0 : value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[at]}`;
}

/** "154 MB" of 154389504. */
export const bytesText = (bytes: number) => scaled(bytes, ['B', 'KB', 'MB', 'GB', 'TB'], 1000);
/** "4.94 GFLOP" of 4940464128. */
export const flopText = (flop: number) => scaled(flop, ['FLOP', 'KFLOP', 'MFLOP', 'GFLOP', 'TFLOP'], 1000);
/** "1.25 ms" of 0.00125. */
export const secondsText = (seconds: number) =>
    seconds === 0 ? '0 s' : seconds < 1 ? scaled(seconds * 1e9, ['ns', 'µs', 'ms'], 1000) : `${seconds.toFixed(2)} s`;
/** "12.5 %" of 0.125. */
export const shareText = (share: number) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
/** "4.7e-3" of 0.0047. */
export const errorText = (error: number) => (error === 0 ? '0' : error.toExponential(1));
/** "1,024" of 1024. */
export const countText = (count: number) => count.toLocaleString('en-US');
