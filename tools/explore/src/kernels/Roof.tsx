// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The roofline of a run (Williams, Waterman, Patterson 2009): operations a second over operations a byte, both logarithmic,
// under what the machine can do, which `attn bench` measured.
import { isTimed, type Kernel, type Shown } from '../data';
import { rateText, shareText } from '../format';

interface Point {
  kernel: Kernel;
  /** Operations a byte, and a second. */
  intensity: number;
  rate: number;
}

function pointOf({ kernel, shown }: { kernel: Kernel; shown: Shown }): Point | undefined {
  const calls = shown.calls.get(kernel.function);
  return kernel.flop && kernel.bytes && kernel.seconds && calls
    ? { kernel, intensity: kernel.flop / kernel.bytes, rate: (kernel.flop * calls) / kernel.seconds } : undefined;
}

/** What the roof is over a kernel, in operations a second, and which part of it: memory or arithmetic. */
export function roofOver(shown: Shown, kernel: Kernel): { limit: number; isMemory: boolean; share: number } | undefined {
  const { run } = shown.target, point = pointOf({ kernel, shown });
  if (!isTimed(shown) || !run?.peak_flop_per_s || !run.peak_bytes_per_s || !point)
    return undefined;
  const memory = point.intensity * run.peak_bytes_per_s, isMemory = memory < run.peak_flop_per_s;
  const limit = Math.min(memory, run.peak_flop_per_s);
  return { limit, isMemory, share: point.rate / limit };
}

export function Roof({ shown, kernels, marked }: { shown: Shown; kernels: Kernel[]; marked?: Kernel }) {
  const { run } = shown.target;
  const points = kernels.map((kernel) => pointOf({ kernel, shown })).filter((point) => point !== undefined);
  if (!run?.peak_flop_per_s || !run.peak_bytes_per_s || points.length === 0)
    return null;
  const ridge = run.peak_flop_per_s / run.peak_bytes_per_s;
  const xs = [...points.map(({ intensity }) => intensity), ridge], ys = [...points.map(({ rate }) => rate), run.peak_flop_per_s];
  const x0 = Math.min(...xs) / 3, x1 = Math.max(...xs) * 3, y0 = Math.min(...ys) / 2, y1 = Math.max(...ys) * 2;
  const width = 640, height = 300, left = 90, bottom = 36;
  const x = (value: number) => left + ((Math.log(value / x0)) / Math.log(x1 / x0)) * (width - left - 10);
  const y = (value: number) => (height - bottom) - (Math.log(value / y0) / Math.log(y1 / y0)) * (height - bottom - 10);
  const atLeft = Math.max(y0, x0 * run.peak_bytes_per_s);
  const decades = (from: number, to: number) => {
    const all = [];
    for (let power = Math.ceil(Math.log10(from)); power <= Math.floor(Math.log10(to)); ++power)
      all.push(10 ** power);
    return all;
  };
  return <section class="panel" aria-label="Roofline">
    <h2>The roof</h2>
    <svg class="roof" viewBox={`0 0 ${width} ${height}`} role="img" aria-label="Roofline: operations a second over operations a byte">
      {decades(x0, x1).map((value) => <g key={value}><path class="tick" d={`M${x(value)} 10V${height - bottom}`} />
        <text x={x(value)} y={height - bottom + 16} text-anchor="middle">{value}</text></g>)}
      {decades(y0, y1).map((value) => <g key={value}><path class="tick" d={`M${left} ${y(value)}H${width - 10}`} />
        <text x={left - 6} y={y(value) + 4} text-anchor="end">{rateText(value)}</text></g>)}
      <text x={width - 10} y={height - 2} text-anchor="end">operations a byte</text>
      <path class="line" d={`M${x(atLeft / run.peak_bytes_per_s)} ${y(atLeft)}L${x(ridge)} ${y(run.peak_flop_per_s)}H${width - 10}`} />
      {points.map(({ kernel, intensity, rate }) => <a key={kernel.function} href={`#kernels/${encodeURIComponent(kernel.function)}`}>
        <circle class={kernel === marked ? 'marked' : ''} cx={x(intensity)} cy={y(rate)} r={kernel === marked ? 7 : 5}>
          <title>{kernel.function}: {rateText(rate)}</title></circle></a>)}
    </svg>
    <p class="quiet">The line is what the machine did in the run's own measurement: {rateText(run.peak_flop_per_s)}, and{' '}
      {(run.peak_bytes_per_s / 1e9).toFixed(1)} GB/s out of memory. Kernels above its slope find their data in caches.
      {marked && roofOver(shown, marked) && ` ${marked.function} reaches ${shareText(roofOver(shown, marked)!.share)} of the roof above it.`}</p>
  </section>;
}
