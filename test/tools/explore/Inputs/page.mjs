// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What holds of every page and each of its views: size, how long it keeps the browser busy, and that all can be read and
// reached, in both colour schemes and at two widths.
//
// usage: node page.mjs TEMPLATE.html PAGE.html...
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {axeFindings, longestTask, withBrowser} from './browser.mjs';

const wide = {width: 1280, height: 800}, narrow = {width: 800, height: 800};

/** Texts of a page that are smaller than 12 pixels. */
const smallTexts = (page) => page.evaluate(() => [...document.querySelectorAll('body *')].filter((element) =>
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim()) &&
    !['SCRIPT', 'STYLE', 'TITLE', 'NOSCRIPT'].includes(element.tagName) && parseFloat(getComputedStyle(element).fontSize) < 12)
        .map((element) => `${element.tagName} ${element.className} ${element.textContent.slice(0, 40)}`));

/** Holds what is shown against the rules: once as a whole, and what changes with colours and width. */
async function hold(page, view) {
  await page.emulateMedia({colorScheme: 'light'});
  assert.deepEqual(await axeFindings(page), [], view);
  assert.deepEqual(await smallTexts(page), [], view);
  await page.emulateMedia({colorScheme: 'dark'});
  assert.deepEqual(await axeFindings(page, ['color-contrast']), [], `${view}, dark`);
  for (const size of [narrow, wide]) {
    await page.setViewportSize(size);
    assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${view}: nothing is wider than ${size.width}`);
  }
}

const [template, ...files] = process.argv.slice(2);
const bytes = fs.statSync(template).size;
console.log(`the template has ${bytes} bytes`);
assert(bytes <= 500000, 'it has at most 0.5 MB');

await withBrowser(async (open) => {
  for (const file of files) {
    const page = await open(file, wide);
    console.log(`${file}: ${fs.statSync(file).size} bytes, opened with a longest task of ${page.longestTask} ms`);
    assert(page.longestTask <= 200, 'no task takes more than 200 ms');
    for (const view of await page.locator('nav[aria-label=Views] a').allTextContents()) {
      const longest = await longestTask(page, () => page.getByRole('link', {name: view, exact: true}).click());
      assert(longest <= 200, `no task takes more than 200 ms: ${view} took ${longest}`);
      await hold(page, view);
      console.log(`  ${view}: longest task ${longest} ms, all can be read`);
    }
    await page.getByRole('link', {name: 'Kernels', exact: true}).click();
    await page.locator('table.kernels a').first().click();
    await hold(page, 'a kernel');
    console.log('  a kernel: all can be read');
    await page.close();
  }
});
console.log('no request, no error');
