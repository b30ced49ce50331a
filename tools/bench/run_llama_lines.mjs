// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times llama.cpp by node-llama-cpp over texts of tokens, each of which becomes a vector.
//
//   node run_llama_lines.mjs PACKAGE MODEL.gguf THREADS CONTEXTS TEXTS.json VECTORS
//
// PACKAGE is the folder of the npm package. TEXTS.json is a list of lists of tokens. CONTEXTS contexts of THREADS threads each
// take texts in turn, after one that does not count. Prints {"seconds": S, "cpu": S, "version": V}, by the clock and of
// CPUs, and writes the vectors as raw f32, text after text.
import {readFileSync, writeFileSync} from "node:fs";
import {pathToFileURL} from "node:url";

const [, , folder, path, threads, count, list, output] = process.argv;
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(folder + "/dist/index.js"));
const texts = JSON.parse(readFileSync(list));
const llama = await getLlama({gpu: false, build: "never", progressLogs: false, maxThreads: threads * count, logLevel: LlamaLogLevel.error});
const model = await llama.loadModel({modelPath: path, gpuLayers: 0});
const contexts = await Promise.all(Array.from({length: +count}, () => model.createEmbeddingContext({contextSize: 512, batchSize: 512, threads: +threads})));
const results = Array(texts.length);

let next = 0;
async function work(context) {
  for (let i; (i = next++) < texts.length;)
    results[i] = (await context.getEmbeddingFor(texts[i])).vector;
}

for (const context of contexts)
  await context.getEmbeddingFor(texts[0]);
const begin = performance.now(), before = process.cpuUsage();
await Promise.all(contexts.map(work));
const seconds = (performance.now() - begin) / 1e3, used = process.cpuUsage(before);
writeFileSync(output, Buffer.from(Float32Array.from(results.flatMap(one => Array.from(one))).buffer));
console.log(JSON.stringify({seconds, cpu: (used.user + used.system) / 1e6, version: JSON.parse(readFileSync(folder + "/package.json")).version}));
process.exit(0);
