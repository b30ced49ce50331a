// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A server of embeddings on ONNX Runtime, as one would be written on Node: tokens in, vectors out, as
// OpenAI's API has them, in base64.
//
//   node serve_ort.mjs PACKAGE MODEL.onnx RUNS THREADS TOKENS
//
// PACKAGE is the folder of the npm package. RUNS runs are under way at a time, each on THREADS threads. Requests that wait
// and have one length are rows of one run, of up to TOKENS tokens. Prints the port.
import {createServer} from "node:http";
import {createRequire} from "node:module";

const [, , folder, path, runs, threads, most] = process.argv;
const ort = createRequire(import.meta.url)(folder);
const options = {intraOpNumThreads: +threads, interOpNumThreads: 1, graphOptimizationLevel: "all", logSeverityLevel: 3};
const sessions = await Promise.all(Array.from({length: +runs}, () => ort.InferenceSession.create(path, options)));
const waiting = [];

/** The request that has waited longest, and those of its length. */
function takeBatch() {
  const length = waiting[0].ids.length, batch = [], left = [];
  for (const one of waiting)
    (one.ids.length === length && (batch.length + 1) * length <= Math.max(+most, length) ? batch : left).push(one);
  waiting.splice(0, waiting.length, ...left);
  return batch;
}

async function work() {
  const session = sessions.pop();
  while (session && waiting.length) {
    const batch = takeBatch(), length = batch[0].ids.length;
    const ids = new ort.Tensor("int32", Int32Array.from(batch.flatMap(one => one.ids)), [batch.length, length]);
    const positions = new ort.Tensor("int32", Int32Array.from({length}, (_, i) => i), [1, length]);
    const {data, dims} = (await session.run({ids, positions})).embedding;
    batch.forEach(({response}, i) => {
      const row = Buffer.from(data.buffer, data.byteOffset + i * dims[1] * 4, dims[1] * 4).toString("base64");
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({object: "list", data: [{object: "embedding", index: 0, embedding: row}], model: "onnx",
                                   usage: {prompt_tokens: length, total_tokens: length}}));
    });
  }
  if (session)
    sessions.push(session);
}

const server = createServer((request, response) => {
  const pieces = [];
  request.on("data", piece => pieces.push(piece));
  request.on("end", () => {
    waiting.push({ids: JSON.parse(Buffer.concat(pieces)).input, response});
    work();
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
