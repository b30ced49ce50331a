// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times ONNX Runtime over batches of tokens, each batch of one length.
//
//   node run_ort_lines.mjs PACKAGE MODEL.onnx THREADS SESSIONS BATCHES.json VECTORS
//
// PACKAGE is the folder of the npm package. BATCHES.json is a list of batches, each a list of rows of
// tokens. SESSIONS sessions of THREADS threads each take batches in turn, after one that does not count.
// Prints {"seconds": S, "cpu": S, "version": V}, by the clock and of CPUs, and writes the vectors as raw f32, batch after batch.
import {readFileSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";

const [, , folder, path, threads, sessions, list, output] = process.argv;
const ort = createRequire(import.meta.url)(folder);
const batches = JSON.parse(readFileSync(list));
const options = {intraOpNumThreads: +threads, interOpNumThreads: 1, graphOptimizationLevel: "all", logSeverityLevel: 3};
const results = Array(batches.length);

async function run(session, batch) {
  const rows = batch.length, length = batch[0].length;
  const ids = new ort.Tensor("int32", Int32Array.from(batch.flat()), [rows, length]);
  const positions = new ort.Tensor("int32", Int32Array.from({length}, (_, i) => i), [1, length]);
  return (await session.run({ids, positions})).embedding.data;
}

let next = 0;
async function work(session) {
  for (let i; (i = next++) < batches.length;)
    results[i] = await run(session, batches[i]);
}

const all = await Promise.all(Array.from({length: +sessions}, () => ort.InferenceSession.create(path, options)));
for (const session of all)
  await run(session, batches[0]);
const begin = performance.now(), before = process.cpuUsage();
await Promise.all(all.map(work));
const seconds = (performance.now() - begin) / 1e3, used = process.cpuUsage(before);
const cpu = (used.user + used.system) / 1e6;
writeFileSync(output, Buffer.concat(results.map(one => Buffer.from(one.buffer, one.byteOffset, one.byteLength))));
console.log(JSON.stringify({seconds, cpu, version: JSON.parse(readFileSync(folder + "/package.json")).version}));
