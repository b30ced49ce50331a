// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The view of the model: its graph has the steps and costs of the explanation, folds by keyboard and leads to kernels; errors of a
// run stand at the steps that compute what is wrong; the memory plan and the bindings are those of the explanation.
//
// usage: node model.mjs PAGE.html RUN.json
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {longestTask, withBrowser} from './browser.mjs';

const [file, run] = process.argv.slice(2);
const {results} = JSON.parse(fs.readFileSync(run, 'utf8'));

/** Kernels that a graph of unfolded blocks shows, as the steps have them. */
const kernelsOf = (steps) => steps.flatMap(({function: name, steps: inside}) => (inside ? kernelsOf(inside) : [name]));

/** Contrast of each text of the graph with the box that it stands in: CSS mixes these colours, which axe does not read. */
const faintTexts = (page) => page.evaluate(() => {
  const context = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d', {willReadFrequently: true});
  const luminance = (colour) => {
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((own) => (own /= 255) <= 0.04045 ? own / 12.92 : ((own + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return [...document.querySelectorAll('.graph .node:not(.port)')].flatMap((node) => [...node.querySelectorAll('text')].flatMap((text) => {
    const [dark, light] = [text, node.querySelector('.shape:not(.under)')].map((own) => luminance(getComputedStyle(own).fill)).sort((a, b) => a - b);
    const contrast = (light + 0.05) / (dark + 0.05);
    return contrast < 4.5 ? [`${text.textContent}: ${contrast}`] : [];
  }));
});

await withBrowser(async (open) => {
  const page = await open(`${file}`);
  await page.getByRole('link', {name: 'Model', exact: true}).click();
  const target = page.data.explanations[0].targets[0], entry = target.entries[0];
  const graph = page.locator('.graph');

  // Folding, by keyboard. What does nothing is disabled.
  const press = async (name) => {
    const button = page.getByRole('button', {name, exact: true});
    if (await button.isEnabled())
      await button.click();
  };
  await press('Fold all');
  assert.equal(await graph.locator('.node[aria-expanded=true]').count(), 0);
  const folded = await graph.locator('.node:not(.port)').count();
  assert.equal(folded, entry.steps.length);
  const block = graph.locator('.node[aria-expanded=false]').first();
  await block.focus();
  await page.keyboard.press('Enter');
  assert.equal(await graph.locator('.node[aria-expanded=true]').count(), 1);
  await page.keyboard.press(' ');
  assert.equal(await graph.locator('.node:not(.port)').count(), folded);
  const longest = await longestTask(page, () => press('Unfold all'));
  assert(longest <= 200, `unfolding takes ${longest} ms`);
  const shown = await graph.locator('a.node').evaluateAll((nodes) => nodes.map((node) => decodeURIComponent(node.getAttribute('href').split('/')[1])));
  assert.deepEqual(shown.sort(), kernelsOf(entry.steps).sort());
  console.log(`${folded} steps, ${shown.length} kernels when unfolded; a task of at most ${longest} ms`);

  // Costs: shares of the top of the graph add up.
  await page.getByRole('radio', {name: 'share of operations'}).check();
  await press('Fold all');
  const shares = await graph.locator('.number').allTextContents();
  const sum = shares.reduce((all, text) => all + parseFloat(text), 0);
  assert(Math.abs(sum - 100) < 0.1 * shares.length, `${shares}`);
  console.log(`shares of operations add up to 100 %`);

  // Errors: where they are computed, in both schemes.
  await page.getByRole('radio', {name: 'relative error'}).check();
  await press('Unfold all');
  const call = results[0].call, own = results.filter((result) => result.call === call);
  const errors = await page.locator('table.errors tbody tr').evaluateAll((rows) => rows.map((row) => [row.cells[0].textContent, row.cells[1].textContent]));
  assert.deepEqual(errors.map(([output]) => output), own.map(({output}) => output));
  // Layers share places: the last one is a block of its own.
  let checked = 0;
  for (const kernel of target.kernels) {
    const layers = own.filter(({at, output}) => kernel.places.includes(at) && (!/^blocks/.test(output) || output.startsWith('blocks.3.') === kernel.function.startsWith('Block.last.')));
    const node = graph.locator(`a.node[href="#kernels/${encodeURIComponent(kernel.function)}"]`);
    if (!layers.length || !(await node.count()))
      continue;
    const worst = Math.max(...layers.map((one) => one.relative_l2)), label = await node.getAttribute('aria-label');
    assert(label.includes(worst === 0 ? ', 0,' : worst.toExponential(1)), `${kernel.function}: ${worst} in ${label}`);
    ++checked;
  }
  assert(checked >= 10, `${checked} steps have errors`);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({colorScheme});
    assert.deepEqual(await faintTexts(page), []);
  }
  console.log(`${own.length} errors stand at their steps`);

  // The memory plan, by keyboard.
  const workspace = target.memory.find((one) => one.function === entry.name);
  const buffers = page.locator('.plan .buffer');
  assert.equal(await buffers.count(), workspace.buffers.length);
  await buffers.first().focus();
  assert((await page.locator('.says').textContent()).includes(workspace.buffers[0].at));
  console.log(`${workspace.buffers.length} buffers`);

  // Bindings.
  const rows = page.locator('table.bindings tbody tr');
  assert.equal(await rows.count(), target.weights.flatMap(({parameters}) => parameters).length);
  const name = target.weights[0].parameters[0].tensor;
  await page.getByRole('searchbox').fill(name);
  const filtered = await rows.evaluateAll((all) => all.map((row) => row.textContent));
  assert(filtered.length > 0 && filtered.every((text) => text.includes(name)));
  await page.getByRole('searchbox').fill('');
  await page.getByRole('button', {name: 'bytes', exact: true}).click();
  const largest = Math.max(...target.weights.map(({bytes, layers}) => bytes * layers));
  const slot = target.weights.find(({bytes, layers}) => bytes * layers === largest).slot;
  assert((await rows.first().textContent()).includes(slot));
  console.log('bindings filter and sort');

  // To a kernel.
  const kernel = graph.locator('a.node').first();
  const address = await kernel.getAttribute('href');
  await kernel.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', {name: decodeURIComponent(address.split('/')[1])}).first().waitFor();
  console.log('a step leads to its kernel');
});
