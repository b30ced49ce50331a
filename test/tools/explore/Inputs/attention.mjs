// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The view of an attention: its data are the compiler's; a term lights exactly the instructions that are of it; tiles are judged as
// the compiler judges them, whatever length is dragged and whatever mask is typed; all of it by keyboard.
//
// usage: node attention.mjs SPEC PAGE.html FOLDER
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import {withBrowser} from './browser.mjs';

const [spec, file, folder] = process.argv.slice(2);
const target = '--target=x86-64-v3';
const explain = (of, ...options) => JSON.parse(execFileSync('attn', ['explain', of, target, ...options, '--json'], {encoding: 'utf8'}));
const attentionOf = (explanation) => explanation.targets[0].kernels.find(({facts}) => facts.kind === 'attention');
const countsOf = ({empty, full, tested}) => [empty, full, tested].map((count) => count.toLocaleString('en'));

await withBrowser(async (open) => {
  const page = await open(file), own = explain(spec);
  assert.deepEqual(page.data.explanations, [own]);
  const kernel = attentionOf(own);
  const message = async () => (await page.locator('#mask-message').textContent()).replace(/\s+/g, ' ');
  const counts = async () => /tiles? (\S+) empty, (\S+) full, (\S+) tested/.exec(await message()).slice(1);

  // Terms and instructions.
  const packed = await page.evaluate((name) => [...document.querySelectorAll('script.attn-code')].find(({dataset}) => dataset.function === name).textContent,
                                     kernel.function);
  const code = JSON.parse(zlib.inflateSync(Buffer.from(packed, 'base64')).toString());
  await page.waitForSelector('.cm-line');
  const terms = kernel.facts.terms.map(({term}) => term);
  assert.deepEqual(terms, ['score', 'bias', 'mask', 'weight', 'values']);
  for (const [n, term] of terms.entries()) {
    await page.locator('.terms button').nth(n).click();
    const wanted = code.flatMap(({part}, line) => part === term ? [line] : []);
    assert(wanted.length > 0, term);
    assert.equal(await page.locator('[data-lit]').getAttribute('data-lit'), String(wanted.length));
    // Only the lines that are seen are there: 40 windows of the code are looked at.
    const lit = await page.evaluate(async () => {
      const scroller = document.querySelector('.cm-scroller'), lines = new Map();
      const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      for (let window = 0; window < 40; ++window) {
        scroller.scrollTop = ((scroller.scrollHeight - scroller.clientHeight) * window) / 39;
        await frame();
        const numbers = [...document.querySelectorAll('.cm-lineNumbers .cm-gutterElement')].filter(({style}) => style.visibility !== 'hidden');
        const byTop = new Map(numbers.map((number) => [Math.round(number.getBoundingClientRect().top), Number(number.textContent)]));
        for (const line of document.querySelectorAll('.cm-line')) {
          const number = byTop.get(Math.round(line.getBoundingClientRect().top));
          if (number)
            lines.set(number - 1, line.classList.contains('lit'));
        }
      }
      return [...lines];
    });
    assert(lit.length > 1000, `${lit.length} lines of ${code.length} were seen`);
    assert.deepEqual(lit.filter(([, isLit]) => isLit).map(([line]) => line), lit.map(([line]) => line).filter((line) => wanted.includes(line)));
    await page.locator('.terms button').nth(n).click();
  }
  await page.locator('.formula .term.mask').click();
  assert.equal(await page.locator('[data-lit]').getAttribute('data-lit'), String(code.filter(({part}) => part === 'mask').length));
  await page.locator('.formula .term.mask').click();
  assert.equal(await page.locator('[data-lit]').count(), 0);
  console.log(`terms light exactly their instructions: ${terms.map((term) => `${term} ${code.filter(({part}) => part === term).length}`).join(', ')}`);

  // The mask at other lengths.
  assert.deepEqual(await counts(), countsOf(kernel.facts.verdicts));
  const slider = page.locator('.length input');
  for (const length of [1, 47, 48, 333, 677]) {
    await slider.fill(String(length));
    assert.deepEqual(await counts(), countsOf(attentionOf(explain(spec, `--set-size=T=${length}`)).facts.verdicts), length);
  }
  console.log('lengths that are dragged have the verdicts of the compiler');

  // Other masks.
  await slider.fill('600');
  const text = fs.readFileSync(spec, 'utf8'), other = path.join(folder, 'other.attn');
  for (const mask of ['causal', 'window(40, 40) or j < 4', 'not (i % 64 < 8) and j <= i', 'abs(i - j) % 3 == 0 and j >= i', 'floor(i / 50) == floor(j / 50)']) {
    fs.writeFileSync(other, text.replace(/mask causal.*/, `mask ${mask}`));
    await page.locator('.editor input').fill(mask);
    assert.deepEqual(await counts(), countsOf(attentionOf(explain(other, '--set-size=T=600')).facts.verdicts), mask);
  }
  console.log('masks that are typed have the verdicts of the compiler');

  // Mistakes.
  for (const [mask, wanted] of [['j <=', /expected a number, a position or `\(`, but got the end/], ['i + 1', /this is a number/], ['j <= cuasal', /no position, dim or mask `cuasal`/],
                                ['1 < i < 3', /do not follow each other/], ['window(3)', /lacks its number `right`/], ['j < n[i]', /tensor of the run/]]) {
    await page.locator('.editor input').fill(mask);
    assert.match(await message(), wanted);
    assert.equal(await page.locator('.square').count(), 0);
  }
  await page.getByRole('button', {name: 'As the spec has it'}).click();
  await slider.fill(String(kernel.facts.queries));
  assert.deepEqual(await counts(), countsOf(kernel.facts.verdicts));
  console.log('mistakes are told');

  // By keyboard: from the top of the page to the tiles and to the code.
  await page.locator('body').press('Tab');
  const reached = new Set();
  let isTried = false; // the focus comes round
  for (let n = 0; n < 40; ++n) {
    reached.add(await page.evaluate(() => document.activeElement.closest('.terms, .square, .cm-content, .editor, .length, nav, footer')?.className ||
                                          document.activeElement.closest('nav, footer')?.tagName));
    if (!isTried && await page.evaluate(() => document.activeElement.classList.contains('square'))) {
      isTried = true;
      for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight'])
        await page.keyboard.press(key);
      const {query_starts: queries, key_starts: keys} = kernel.facts.verdicts;
      assert.match(await page.locator('.tile p').textContent(), new RegExp(`Queries ${queries[1]} to ${queries[2] - 1}, keys ${keys[1]} to ${keys[2] - 1}: (empty|full|tested)`));
    }
    await page.keyboard.press('Tab');
  }
  for (const part of ['NAV', 'terms', 'editor', 'length', 'square', 'FOOTER'])
    assert([...reached].some((name) => name?.includes(part)), `${part} is reached: ${[...reached]}`);
  assert([...reached].some((name) => name?.includes('cm-content')));
  console.log('all is reached by keyboard');

  // A tile: its live pairs, one by one.
  const isLive = (i, j) => j <= i && i - 70 <= j && j <= i;
  const box = await page.locator('.square > svg').boundingBox(), size = kernel.facts.queries;
  await page.locator('.square > svg').click({position: {x: (200.5 / size) * box.width, y: (210.5 / size) * box.height}});
  const [, from, to, first, last, live] = /Queries (\d+) to (\d+), keys (\d+) to (\d+): .* (\S+) of \S+ pairs count/.exec(await page.locator('.tile p').textContent()).map(Number);
  let expected = 0;
  for (let i = from; i <= to; ++i)
    for (let j = first; j <= last; ++j)
      expected += isLive(i, j);
  assert(from <= 210 && 210 <= to && first <= 200 && 200 <= last);
  assert.equal(live, expected);
  await page.getByRole('link', {name: 'The loop that works on it'}).click();
  const marked = await page.locator('.loops .marked').allTextContents();
  assert(marked.length > 0 && marked.every((text) => /^score_tile .* pair by pair/.test(text)), marked);
  console.log('a tile counts its live pairs, and leads to its loop');
});
