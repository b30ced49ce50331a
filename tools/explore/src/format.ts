// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers as people read them.

function scaled(value: number, units: [number, string][], last: string): string {
  for (const [scale, unit] of units)
    if (Math.abs(value) >= scale)
      return `${digits(value / scale)} ${unit}`;
  return `${digits(value)} ${last}`;
}

function digits(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0 });
}

export function flopText(flop: number | undefined): string {
  return flop === undefined ? '' : scaled(flop, [[1e12, 'TFLOP'], [1e9, 'GFLOP'], [1e6, 'MFLOP'], [1e3, 'kFLOP']], 'FLOP');
}
export function rateText(flopPerSecond: number): string {
  return scaled(flopPerSecond, [[1e12, 'TFLOP/s'], [1e9, 'GFLOP/s'], [1e6, 'MFLOP/s'], [1e3, 'kFLOP/s']], 'FLOP/s');
}
export function byteText(bytes: number | undefined): string {
  return bytes === undefined ? '' : scaled(bytes, [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB']], 'B');
}
export function timeText(seconds: number): string {
  return scaled(seconds, [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs']], 's').replace(/^0 s$/, '0 s');
}
export function shareText(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
export function countText(count: number): string {
  return count.toLocaleString('en');
}
/** "4.7e-3" of 0.0047 */
export function errorText(error: number): string {
  return error === 0 ? '0' : error.toExponential(1);
}
/** "1 tile", "12 tiles" */
export function plural(count: number, one: string): string {
  return `${countText(count)} ${one}${count === 1 ? '' : 's'}`;
}
