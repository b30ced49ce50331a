// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds the page's verdicts on tiles against the compiler's, of random masks and lengths. Masks that both refuse count, too.
// usage: node random_masks.mjs PACKAGES SOURCES FOLDER COUNT SEED
import {execFileSync, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [packages, sources, folder, count, seed] = process.argv.slice(2);
const level = 'x86-64-v3', perSpec = 100;

// The sources that the page is bundled of, for node.
fs.mkdirSync(folder, {recursive: true});
const bundle = path.join(folder, 'mask.mjs');
await createRequire(path.resolve(packages, 'package.json'))('esbuild').build({
  stdin: {contents: `export * from './mask/expression'; export * from './mask/program'; export * from './mask/tiles';`, resolveDir: path.resolve(sources), loader: 'ts'},
  bundle: true, format: 'esm', outfile: bundle, logLevel: 'warning',
});
const {parseExpression, declarationsOf, MaskProgram, judge} = await import(pathToFileURL(bundle));

// A generator of numbers that is the same everywhere (mulberry32).
let state = Number(seed);
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}
const below = (n) => Math.floor(random() * n);
const oneOf = (list) => list[below(list.length)];

function whole(depth, dim) {
  if (depth === 0 || random() < 0.25)
    return oneOf(['i', 'j', 'i', 'j', String(below(200)), dim]);
  const a = () => whole(depth - 1, dim);
  return oneOf([
    () => `(${a()} + ${a()})`, () => `(${a()} - ${a()})`, () => `${a()} % ${1 + below(90)}`, () => `floor(${a()} / ${1 + below(90)})`,
    () => `abs(${a()})`, () => `min(${a()}, ${a()})`, () => `max(${a()}, ${a()})`, () => `clamp(${a()}, ${below(9)}, ${20 + below(99)})`,
    () => `${a()} * ${below(5)}`, () => `-${a()}`, () => `(if ${truth(depth - 1, dim)} then ${a()} else ${a()})`,
  ])();
}
function real(depth, dim) {
  return oneOf([() => `${whole(depth, dim)} / ${1 + below(9)}`, () => `${whole(depth, dim)} * 0.${1 + below(9)}`,
                () => `floor(${whole(depth, dim)} * 0.${1 + below(9)})`, () => `${whole(depth, dim)} / ${1 + below(9)} + 1.5`])();
}
function truth(depth, dim) {
  if (depth === 0 || random() < 0.4) {
    const compare = oneOf(['<', '<=', '>', '>=', '==', '!=']);
    if (random() < 0.15)
      return oneOf(['causal', `window(${below(150)}, ${below(40)})`, 'others', `block_diagonal(${1 + below(99)})`, `prefix(length = ${below(99)})`,
                    `dilated(${1 + below(9)}, ${below(99)})`]);
    return random() < 0.2 ? `${real(1, dim)} ${compare} ${real(1, dim)}` : `${whole(2, dim)} ${compare} ${whole(1, dim)}`;
  }
  const a = () => truth(depth - 1, dim);
  return oneOf([() => `(${a()} and ${a()})`, () => `(${a()} or ${a()})`, () => `not (${a()})`, () => `(${a()} or ${a()})`,
                () => `(if ${a()} then ${a()} else ${a()})`])();
}

fs.writeFileSync(path.join(folder, 'std.attn'), `attn 1
use std.masks
model M {
  dim T = 2
  entry run(q: [T, 4]) -> [T, 4] = attend q over q, q along T as S { mask others }
}
`);
const explained = JSON.parse(execFileSync('attn', ['explain', path.join(folder, 'std.attn'), '--json'], {encoding: 'utf8'}));
const declarations = declarationsOf(explained.sources.find(({file}) => file === 'std/masks.attn').text);

const seen = {equal: 0, refused: 0, untold: 0, empty: 0, full: 0, tested: 0};
for (let first = 0; first < Number(count); first += perSpec) {
  const cases = [];
  for (let n = 0; n < Math.min(perSpec, Number(count) - first); ++n) {
    const isDynamic = random() < 0.5, length = oneOf([1 + below(40), 30 + below(300), 64 * (1 + below(8)), 100 + below(900)]);
    cases.push({name: `T${n}`, isDynamic, length, mask: truth(2, `T${n}`)});
  }
  const write = (some) => `attn 1\nuse std.masks\nmodel M {\n` + some.map(({name, isDynamic, length}) =>
    isDynamic ? `  dyn ${name} <= ${length}\n` : `  dim ${name} = ${length}\n`).join('') + some.map(({name, mask}, n) =>
    `  entry run${n}(q: [2, ${name}, 16], k: [2, ${name}, 16]) -> [2, ${name}, 16] = attend q over k, k along ${name} as S { mask ${mask} }\n`).join('') + '}\n';
  const file = path.join(folder, 'masks.attn');
  // Only the stage that cuts tiles: the compiler's remarks on it have the facts that `attn explain --json` prints.
  const cut = (some) => {
    fs.writeFileSync(file, write(some));
    const memory = spawnSync('attn', ['compile', file, '--emit=memory', `--target=${level}`, '-o', `${file}.mlir`], {encoding: 'utf8'});
    return memory.status !== 0 ? memory
      : spawnSync('attn-opt', ['--remark-format=emitRemark', '--remarks-filter=.*', '-o', `${file}.tiled`, `${file}.mlir`,
                               `--pass-pipeline=builtin.module(attn-tile{level=${level}})`], {encoding: 'utf8', maxBuffer: 1 << 28});
  };
  // Masks that the compiler refuses (numbers out of range, for example) are taken out, by their lines.
  let some = cases, run = cut(some);
  while (run.status !== 0) {
    const lines = new Set([...run.stderr.matchAll(/masks\.attn:(\d+):/g)].map(([, line]) => Number(line) - 4 - some.length));
    const kept = some.filter((_, n) => !lines.has(n));
    if (kept.length === some.length)
      throw new Error(run.stderr);
    seen.refused += some.length - kept.length;
    some = kept, run = cut(some);
  }
  const facts = new Map([...run.stderr.matchAll(/Function=run(\d+)\.\S* \| Facts="(\{.*\})", Remark=/g)].map(([, n, text]) =>
    [Number(n), JSON.parse(text)]));
  some.forEach(({name, length, isDynamic, mask}, n) => {
    const verdicts = facts.get(n)?.verdicts;
    if (!verdicts) { // nothing left of the mask
      ++seen.untold;
      return;
    }
    const program = new MaskProgram(parseExpression(mask), {positions: [], dims: new Map([[name, length]]), offset: 0, declarations,
                                                            dynamic: new Set(isDynamic ? [name] : [])});
    const judged = judge(program, facts.get(n).division ?? facts.get(n).tiles[0], length, length);
    const own = JSON.stringify([judged.queries, judged.keys, judged.empty, judged.full, judged.tested, judged.pairs]);
    const theirs = JSON.stringify([verdicts.query_starts, verdicts.key_starts, verdicts.empty, verdicts.full, verdicts.tested, verdicts.pairs]);
    if (own !== theirs) {
      console.error(`${name} = ${length}${isDynamic ? ' dyn' : ''}: ${mask}\n  page     ${own}\n  compiler ${theirs}`);
      process.exitCode = 1;
      return;
    }
    ++seen.equal;
    for (const verdict of ['empty', 'full', 'tested'])
      seen[verdict] += verdicts[verdict];
  });
}
console.log(`${seen.equal} masks have equal verdicts: ${seen.empty} tiles empty, ${seen.full} full, ${seen.tested} tested; ` +
            `${seen.untold} were decided, ${seen.refused} refused`);
