// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of every masked attention of every entry: the page shows the compiler's verdicts, or says that it has no formula to judge.
//
// usage: node examples.mjs PAGE.html...
import assert from 'node:assert/strict';
import path from 'node:path';
import {withBrowser} from './browser.mjs';

await withBrowser(async (open) => {
  for (const file of process.argv.slice(2)) {
    const page = await open(file), target = page.data.explanations[0].targets[0];
    let judged = 0, said = 0;
    for (const {name} of target.entries) {
      const entry = page.getByLabel('Entry');
      if (target.entries.length > 1)
        await entry.selectOption({label: name});
      await page.getByRole('link', {name: 'Attention', exact: true}).click();
      const tabs = await page.locator('nav.tabs a').allTextContents();
      for (const tab of tabs.length > 0 ? tabs : [null]) {
        if (tab)
          await page.locator('nav.tabs').getByRole('link', {name: tab, exact: true}).click();
        const own = (await page.locator('section[aria-label=Formula] h2').textContent()).split(' ')[0];
        const {mask, formula, verdicts} = target.kernels.find((kernel) => kernel.function === own).facts;
        if (!mask || !verdicts)
          continue;
        const text = (await page.locator('section[aria-label=Mask]').textContent()).replace(/\s+/g, ' ');
        const counts = ['empty', 'full', 'tested'].map((verdict) => verdicts[verdict].toLocaleString('en'));
        if (formula) {
          assert.deepEqual(/tiles? (\S+) empty, (\S+) full, (\S+) tested/.exec(text).slice(1), counts, own);
          ++judged;
        } else {
          assert.deepEqual(/no formula of .* found (\S+) empty, (\S+) full and (\S+) tested/.exec(text).slice(1), counts, own);
          ++said;
        }
      }
    }
    console.log(`${path.basename(file)}: ${judged} masks are judged as the compiler does, ${said} are not judged`);
    await page.close();
  }
});
