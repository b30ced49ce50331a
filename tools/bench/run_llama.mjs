// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times llama.cpp by node-llama-cpp: reading a prompt, then each token behind it.
//
//   node run_llama.mjs PACKAGE MODEL.gguf THREADS PROMPT TOKENS TURNS
//
// PACKAGE is the folder of the npm package. Prints {"prompt_ms": [...], "token_ms": [...]}; a token's
// time is that of TOKENS tokens divided by their number. One prompt and its tokens come before that and
// do not count; they are all where TURNS is 0.
import {pathToFileURL} from "node:url";

const [, , folder, path, threads, promptLength, tokenCount, turns] = process.argv;
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(folder + "/dist/index.js"));
const llama = await getLlama({gpu: false, build: "never", progressLogs: false, maxThreads: +threads, logLevel: LlamaLogLevel.error});
const model = await llama.loadModel({modelPath: path, gpuLayers: 0});
const room = +promptLength + +tokenCount + 8;
const context = await model.createContext({contextSize: room, batchSize: +promptLength, threads: +threads, flashAttention: true});
const sequence = context.getSequence();
const prompt = Array.from({length: +promptLength}, (_, i) => 300 + (i * 7919) % 30000);
const result = {prompt_ms: [], token_ms: []};
for (let turn = 0; turn <= +turns; ++turn) {
  await sequence.clearHistory();
  const start = performance.now();
  await sequence.evaluateWithoutGeneratingNewTokens(prompt);
  const read = performance.now();
  let count = 0;
  for await (const token of sequence.evaluate([300], {temperature: 0, yieldEogToken: true}))
    if (++count >= +tokenCount)
      break;
  const end = performance.now();
  if (count < +tokenCount)
    throw new Error(`only ${count} tokens came`);
  if (turn === 0)
    continue;
  result.prompt_ms.push(read - start);
  result.token_ms.push((end - read) / count);
}
console.log(JSON.stringify(result));
process.exit(0);
