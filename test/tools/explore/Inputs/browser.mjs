// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens pages of `attn explore` in Debian's Chromium, and holds against each what holds of all: no request leaves the file,
// and nothing is reported to the console. A test starts one browser.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

// npm's packages lie in the build tree.
const require = createRequire(path.join(process.env.ATTN_EXPLORE_MODULES, 'package.json'));
const {chromium} = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Runs `body(open)` with a browser. `open(file, {width, height, scheme})` resolves to a page of that file, with its data as `data`. */
export async function withBrowser(body) {
  const browser = await chromium.launch({executablePath: process.env.ATTN_CHROMIUM, args: ['--no-sandbox', '--disable-gpu']});
  const problems = [];
  const open = async (file, {width = 1280, height = 800, scheme = 'light'} = {}) => {
    const page = await browser.newPage({viewport: {width, height}, colorScheme: scheme, reducedMotion: 'reduce'});
    const address = pathToFileURL(path.resolve(file)).href;
    page.setDefaultTimeout(60000);
    page.on('request', (request) => {
      if (request.url().split('#')[0] !== address && !/^(data|blob):/.test(request.url()))
        problems.push(`a request leaves ${file}: ${request.url()}`);
    });
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning')
        problems.push(`${file}: ${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => problems.push(`${file}: ${error.stack}`));
    await page.addInitScript(() => {
      window.longTasks = [];
      new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((entry) => entry.duration)))
          .observe({type: 'longtask', buffered: true});
    });
    await page.goto(address);
    await page.waitForSelector('#app h1');
    page.data = await page.evaluate(() => JSON.parse(document.getElementById('attn-data').textContent));
    return page;
  };
  try {
    await body(open);
  } finally {
    await browser.close();
  }
  assert.deepEqual(problems, []);
}

/** The longest task of a page so far, in milliseconds; 0 if none took 50. */
export const longestTask = (page) => page.evaluate(() => Math.max(0, ...window.longTasks));

/** What axe finds wrong, a line for each element: colours of too little contrast, controls without a name, and the like. */
export async function axeFindings(page) {
  await page.evaluate(axe);
  const {violations} = await page.evaluate(() => axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}));
  return violations.flatMap(({id, nodes}) => nodes.map(({target, failureSummary}) =>
      `${id}: ${target.join(' ')}: ${failureSummary.replace(/\s+/g, ' ')}`));
}
