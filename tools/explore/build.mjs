// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bundles src/ into one HTML file that loads nothing: src/page.html with style and script in it, and the licences of what
// is bundled. `attn explore` puts its data into that file. Stands beside the node_modules that `npm ci` made of the lock;
// without these (no network) it makes no page.
//
// usage: node build.mjs PAGE.html
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const page = path.resolve(process.argv[2]);
process.chdir(path.dirname(fileURLToPath(import.meta.url)));
if (!fs.existsSync('node_modules/.package-lock.json'))
  process.exit(0);

const {build} = await import('esbuild');
const options = {
  bundle: true, minify: true, write: false, metafile: true, legalComments: 'none', logLevel: 'warning',
  target: ['chrome115', 'firefox115', 'safari16.4'], jsx: 'automatic', jsxImportSource: 'preact',
  define: {'process.env.NODE_ENV': '"production"'},
  // src/ may be a link into the source tree, which has no node_modules.
  preserveSymlinks: true,
};
// esbuild itself says what is wrong, and where.
const bundle = (file) => build({...options, entryPoints: [file], format: 'iife'}).catch(() => process.exit(1));
const script = await bundle('src/main.tsx'), style = await bundle('src/style.css');

// The packages that the bundle has parts of, with their licences; and what these depend on, for some bring it in one file.
const used = new Set();
for (const input of Object.keys(script.metafile.inputs)) {
  const folder = input.match(/^node_modules\/(@[^/]+\/)?[^/]+/)?.[0];
  if (folder)
    used.add(folder);
}
const described = (folder) => JSON.parse(fs.readFileSync(`${folder}/package.json`, 'utf8'));
for (const folder of used)
  for (const name of Object.keys(described(folder).dependencies ?? {}))
    used.add(`node_modules/${name}`);
const escape = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
const licences = [...used].sort().map((folder) => {
  const {name, version, license} = described(folder);
  const file = fs.readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file)
    throw new Error(`${folder} has no file with its licence`);
  return `<details><summary>${name} ${version}, ${license}</summary><pre>${
      escape(fs.readFileSync(`${folder}/${file}`, 'utf8').trim())}</pre></details>`;
});

const parts = {STYLE: style.outputFiles[0].text.trim(), SCRIPT: script.outputFiles[0].text.trim(), LICENCES: licences.join('\n')};
let html = fs.readFileSync('src/page.html', 'utf8');
for (const [name, text] of Object.entries(parts)) {
  if (html.split(`@${name}@`).length !== 2)
    throw new Error(`src/page.html has to have @${name}@ once`);
  html = html.replace(`@${name}@`, () => text);
}
fs.mkdirSync(path.dirname(page), {recursive: true});
fs.writeFileSync(page, html);
console.log(`explore: ${path.basename(page)} has ${html.length} bytes; of ${used.size} packages`);
