// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens a trace with speedscope's own importer (npm's package of that name), which its bundle keeps
// to itself, and prints each thread: its name, its calls in their order, indented by depth, and the
// depth of the deepest.
//
// usage: node speedscope.mjs PACKAGE TRACE.json
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

const [folder, trace] = process.argv.slice(2);
const release = path.join(folder, 'dist', 'release');
const bundle = fs.readdirSync(release).find((name) => /^speedscope-.*\.js$/.test(name));
const code = fs.readFileSync(path.join(release, bundle), 'utf8');
const importer = code.match(/Importing as Trace Event Format profile"\),([\w$]+)\(/)?.[1];
if (!importer || !code.includes('(()=>{'))
  throw new Error(`${bundle}: no importer of traces`);

// Modules of the bundle begin when they are first asked for, and pages ask for a browser that is not here: all begin that can.
const context = vm.createContext({console: {log() {}, warn: console.error, error: console.error}, modules: []});
context.window = context.self = context;
const lazily = '(t,e)=>()=>(t&&(e=t(t=0)),e)';
const opened = code.replace('(()=>{', `(()=>{globalThis.importTrace=(x)=>${importer}(x);`)
                   .replace(lazily, `(t,e)=>{let f=${lazily.slice('(t,e)=>'.length)};globalThis.modules.push(f);return f}`);
const attempt = (begin) => {
  try {
    begin();
  } catch {
  }
};
attempt(() => vm.runInContext(opened, context));
context.modules.forEach(attempt);
const {profiles} = context.importTrace(JSON.parse(fs.readFileSync(trace, 'utf8')));
for (const profile of profiles) {
  console.log(profile.getName());
  let depth = 0, deepest = 0;
  profile.forEachCall((node) => {
    deepest = Math.max(deepest, ++depth);
    console.log(' '.repeat(2 * depth) + node.frame.name);
  }, () => --depth);
  console.log(`deepest: ${deepest}`);
  if (depth)
    throw new Error(`${depth} calls do not end`);
}
