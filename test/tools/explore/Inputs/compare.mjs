// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The view of two builds has what `attn diff --json` says: kernels that differ in its order, all of their changes among the facts
// that are marked, and what one side has alone.
//
// usage: node compare.mjs PAGE.html DIFF.json
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {longestTask, withBrowser} from './browser.mjs';

const [file, json] = process.argv.slice(2);
const diff = JSON.parse(fs.readFileSync(json, 'utf8'));

await withBrowser(async (open) => {
  const page = await open(file);
  await page.getByRole('link', {name: 'Comparison', exact: true}).click();
  assert.deepEqual(page.data.diff, diff);
  const pairs = page.locator('details.pair');
  const names = () => pairs.locator('summary .name').allTextContents();
  const most = page.getByRole('button', {name: /^Show all/});
  if (await most.count())
    await most.click();
  assert.deepEqual(await names(), diff.kernels.map((kernel) => kernel.function));
  console.log(`${diff.kernels.length} kernels differ`);

  // By keyboard: the facts of the first few beside each other.
  for (const [n, {changes, ...kernel}] of diff.kernels.slice(0, 5).entries()) {
    await pairs.nth(n).locator('summary').focus();
    const longest = await longestTask(page, () => page.keyboard.press('Enter'));
    assert(longest <= 200, `facts take ${longest} ms`);
    const facts = new Map(await pairs.nth(n).locator('table.facts tbody tr').evaluateAll((rows) =>
        rows.map((row) => [row.cells[0].textContent, {a: row.cells[1].textContent, b: row.cells[2].textContent, isMarked: row.classList.contains('differs')}])));
    const known = changes.filter(({fact}) => facts.has(fact));
    assert(known.length > 0, kernel.function);
    for (const {fact, a, b} of known)
      if (fact === 'bytes') // which has a unit
        assert(facts.get(fact).isMarked);
      else
        assert.deepEqual(facts.get(fact), {a, b, isMarked: true}, `${kernel.function}, ${fact}`);
  }
  console.log('facts stand beside each other');

  for (const [name, own] of [['A', diff.only_a], ['B', diff.only_b]]) {
    const list = page.locator('section', {has: page.getByRole('heading', {name: `Only in ${name}`})}).locator('li');
    assert.equal(await list.count(), own.length);
    for (const [n, {function: kernel, text}] of own.entries())
      assert.equal(await list.nth(n).textContent(), `${kernel} ${text}`);
  }
  console.log(`${diff.only_a.length} only in A, ${diff.only_b.length} only in B`);
});
