// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens pages of `attn explore` in Debian's Chromium, and holds against each what holds of all: no request leaves the file,
// and nothing is reported to the console. A test starts one browser.
//
// Times are those of the processor, so that other work on the machine does not count.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

// npm's packages lie in the build tree.
const require = createRequire(path.join(process.env.ATTN_EXPLORE_MODULES, 'package.json'));
const {chromium} = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** The longest task of a page's main thread while `body` runs, in milliseconds. */
export async function longestTask(page, body) {
  const browser = page.context().browser();
  await browser.startTracing(page, {categories: ['toplevel']});
  await body();
  // What is drawn of it.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50))));
  const {traceEvents} = JSON.parse((await browser.stopTracing()).toString());
  const mains = new Set(traceEvents.filter(({name, args}) => name === 'thread_name' && args.name === 'CrRendererMain').map(({pid, tid}) => `${pid} ${tid}`));
  const tasks = traceEvents.filter(({name, pid, tid}) => /RunTask$/.test(name) && mains.has(`${pid} ${tid}`));
  assert(tasks.length > 0, 'Chromium records its tasks');
  return Math.round(Math.max(...tasks.map(({tdur}) => tdur ?? 0)) / 1000);
}

/**
 * Runs `body(open)` with a browser. `open(file, {width, height, scheme})` resolves to a page of that file; its `data` are those
 * that `attn explore` put into it, and `longestTask` is that of opening it.
 */
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
    page.longestTask = await longestTask(page, async () => {
      await page.goto(address);
      await page.waitForSelector('#app h1');
    });
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

/** Rules that have to hold everywhere. */
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];

/** What axe finds wrong, a line for each element: colours of too little contrast, controls without a name, and the like. */
export async function axeFindings(page, runOnly = rules) {
  await page.evaluate(axe);
  // Of axe's rules in trial one forbids names that are longer than what there is room to show.
  const options = {runOnly, rules: runOnly === rules ? {'label-content-name-mismatch': {enabled: false}} : {}};
  const {violations} = await page.evaluate((options) => axe.run(document, options), options);
  return violations.flatMap(({id, nodes}) => nodes.map(({target, failureSummary}) =>
      `${id}: ${target.join(' ')}: ${failureSummary.replace(/\s+/g, ' ')}`));
}
