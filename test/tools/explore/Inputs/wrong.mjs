// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints what browser.mjs finds wrong with a page that breaks its rules.
//
// usage: node wrong.mjs PAGE.html
import {axeFindings, withBrowser} from './browser.mjs';

try {
  await withBrowser(async (open) => {
    const page = await open(process.argv[2]);
    console.log(`a task of ${page.longestTask} ms`);
    console.log((await axeFindings(page)).join('\n'));
  });
} catch (error) {
  console.log(error.actual.join('\n'));
}
