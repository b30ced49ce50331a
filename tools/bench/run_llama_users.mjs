// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many users of llama.cpp by node-llama-cpp, which batches the sequences of a context.
//
//   node run_llama_users.mjs PACKAGE MODEL.gguf THREADS USERS.json
//
// PACKAGE is the folder of the npm package. USERS.json has for each user when he begins, in seconds, and his requests: {prompt, answer}, tokens and
// how many follow them. Prints for each request when it came and when its tokens did, in seconds: [{"at": x, "tokens": [...]}].
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";

const [, , folder, path, threads, file] = process.argv;
const users = JSON.parse(readFileSync(file, "utf8"));
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(folder + "/dist/index.js"));
const llama = await getLlama({gpu: false, build: "never", progressLogs: false, maxThreads: +threads, logLevel: LlamaLogLevel.error});
const model = await llama.loadModel({modelPath: path, gpuLayers: 0});
const room = Math.max(...users.flatMap((user) => user.requests.map(({prompt, answer}) => prompt.length + answer))) + 8;
const context = await model.createContext({sequences: users.length, contextSize: room, batchSize: 512, threads: +threads, flashAttention: true});
const sequences = users.map(() => context.getSequence());
const start = performance.now();
const now = () => (performance.now() - start) / 1e3;
const done = [];
await Promise.all(users.map(async (user, number) => {
  await new Promise((resolve) => setTimeout(resolve, 1e3 * user.begin));
  for (const {prompt, answer} of user.requests) {
    const request = {at: now(), tokens: []};
    await sequences[number].clearHistory();
    for await (const token of sequences[number].evaluate(prompt, {temperature: 0, yieldEogToken: true})) {
      request.tokens.push(now());
      if (request.tokens.length >= answer)
        break;
    }
    done.push(request);
  }
}));
console.log(JSON.stringify(done));
process.exit(0);
