// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What holds of every page: its size, how long it keeps the browser busy, and that all can be read and reached, in both
// colour schemes and at two widths.
//
// usage: node page.mjs TEMPLATE.html PAGE.html...
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {axeFindings, withBrowser} from './browser.mjs';

const [template, ...files] = process.argv.slice(2);
const bytes = fs.statSync(template).size;
console.log(`the template has ${bytes} bytes`);
assert(bytes <= 500000, 'it has at most 0.5 MB');

await withBrowser(async (open) => {
  for (const file of files) {
    console.log(`${file}: ${fs.statSync(file).size} bytes`);
    for (const scheme of ['light', 'dark']) {
      for (const width of [1280, 800]) {
        const page = await open(file, {width, scheme});
        assert(page.longestTask <= 200, `no task takes more than 200 ms: ${page.longestTask}`);
        assert.deepEqual(await axeFindings(page), []);
        assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is wider than the page');
        console.log(`  ${scheme}, ${width} wide: longest task ${page.longestTask} ms: all can be read`);
        await page.close();
      }
    }
  }
});
console.log('no request, no error');
