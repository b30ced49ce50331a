// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Hugging Face's library for JavaScript, the npm package @huggingface/transformers, makes of raw inputs by a folder: its own tokenizers,
// processors, pooling, chat templates and generation. Where it opens a graph of ONNX, it gets a session whose numbers whoever started this
// computes (javascript.py says why); operators of the library's own, such as the largest values of a row, run in ONNX Runtime.
//
//   node javascript.mjs NODE_MODULES
//
// Jobs and answers are JSON, a line each. A job is {"how": one of JOBS, "folder": …, …}; its answer is {"answer": …} or {"error": …}. Before
// it there may be {"run": a graph's path, "feeds": …}, which the next line answers: {name of an output: array}. An array is
// {"dims", "type": "float32" or "int64", "data": its bytes in base64}.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";

const require = createRequire(path.resolve(process.argv[2], "any.js"));
// The one that the library has, whatever else lies there.
const runtime = createRequire(require.resolve("@huggingface/transformers"))("onnxruntime-node");
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
const hear = async () => {
  const { value, done } = await lines.next();
  return done ? null : JSON.parse(value);
};

function packed({ dims, type, data }) {
  const kept = type === "int64" || type === "bool" ? BigInt64Array.from(data, BigInt) : Float32Array.from(data);
  const bytes = Buffer.from(kept.buffer, kept.byteOffset, kept.byteLength);
  return { dims: [...dims], type: kept instanceof Float32Array ? "float32" : "int64", data: bytes.toString("base64") };
}

function unpacked({ dims, type, data }) {
  const bytes = Uint8Array.from(Buffer.from(data, "base64"));
  return new runtime.Tensor(type, type === "int64" ? new BigInt64Array(bytes.buffer) : new Float32Array(bytes.buffer), dims);
}

// Of any answer, with arrays of the library packed.
function plain(value) {
  if (typeof value === "bigint") return Number(value);
  if (value === null || typeof value !== "object") return value;
  if ("dims" in value && "data" in value) return packed(value);
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, own]) => [name, plain(own)]));
}

// A session whose graph is a file {"graph": its path, "inputs": [{name, type, shape}], "outputs": [name]} of javascript.py's.
class Session {
  constructor({ graph, inputs, outputs }) {
    this.graph = graph;
    this.inputMetadata = inputs.map((input) => ({ isTensor: true, ...input }));
    this.inputNames = inputs.map(({ name }) => name);
    this.outputNames = outputs;
  }
  async run(feeds) {
    say({ run: this.graph, feeds: Object.fromEntries(Object.entries(feeds).map(([name, value]) => [name, packed(value)])) });
    return Object.fromEntries(Object.entries(await hear()).map(([name, value]) => [name, unpacked(value)]));
  }
  async release() {}
}

const create = runtime.InferenceSession.create.bind(runtime.InferenceSession);
runtime.InferenceSession.create = async (graph, options) => {
  const bytes = typeof graph === "string" ? readFileSync(graph) : Buffer.from(graph);
  return bytes[0] === "{".charCodeAt(0) ? new Session(JSON.parse(bytes.toString())) : create(graph, options);
};

const library = require("@huggingface/transformers");
library.env.allowRemoteModels = false;
library.env.logLevel = library.LogLevel.ERROR;

const open = (job) => {
  library.env.localModelPath = path.dirname(job.folder);
  return [path.basename(job.folder), { dtype: "fp32" }];
};
const pictures = (paths) => Promise.all(paths.map((file) => library.RawImage.read(file)));

const JOBS = {
  // A pipeline with its own options, of texts or, with `pictures`, of files.
  async pipeline(job) {
    const run = await library.pipeline(job.task, ...open(job));
    const given = job.pictures ? await pictures(job.pictures) : job.given;
    return run(...(job.pictures ? [job.single ? given[0] : given] : [given]), ...(job.more ?? []), job.options ?? {});
  },
  // One text each, since a batch of texts of several lengths is padded on one side.
  async each(job) {
    const run = await library.pipeline(job.task, ...open(job));
    const answers = [];
    for (const given of job.given) answers.push(await run(given, job.options ?? {}));
    return answers;
  },
  async ids(job) {
    const tokenizer = await library.AutoTokenizer.from_pretrained(...open(job));
    return job.given.map((text) => tokenizer.encode(text));
  },
  async chat(job) {
    const tokenizer = await library.AutoTokenizer.from_pretrained(...open(job));
    return tokenizer.apply_chat_template(job.given, { tokenize: false, add_generation_prompt: true });
  },
  // The outputs of a model of the class `kind`, of pictures, each by itself.
  async outputs(job) {
    const processor = await library.AutoProcessor.from_pretrained(...open(job));
    const model = await library[job.kind].from_pretrained(...open(job));
    const answers = [];
    for (const picture of await pictures(job.pictures)) {
      const inputs = await processor(picture);
      answers.push(await (job.method ? model[job.method](inputs) : model(inputs)));
    }
    return answers;
  },
  async pixels(job) {
    const processor = await library.AutoProcessor.from_pretrained(...open(job));
    const answers = [];
    for (const picture of await pictures(job.pictures)) answers.push((await processor(picture)).pixel_values);
    return answers;
  },
  // A text with a picture: tokens, the grid of patches, their numbers.
  async prompt(job) {
    const processor = await library.AutoProcessor.from_pretrained(...open(job));
    const { input_ids, image_grid_thw, pixel_values } = await processor(job.text, await pictures(job.pictures));
    return [input_ids, image_grid_thw, pixel_values];
  },
  // Vectors of texts by one tower of two.
  async texts(job) {
    const tokenizer = await library.AutoTokenizer.from_pretrained(...open(job));
    const model = await library[job.kind].from_pretrained(...open(job));
    return model(tokenizer(job.given, { padding: job.padding ?? true, truncation: true }));
  },
  async sound(job) {
    const run = await library.pipeline("automatic-speech-recognition", ...open(job));
    const bytes = Uint8Array.from(readFileSync(job.samples));
    return run(new Float32Array(bytes.buffer), job.options ?? {});
  },
  async features(job) {
    const processor = await library.AutoProcessor.from_pretrained(...open(job));
    const bytes = Uint8Array.from(readFileSync(job.samples));
    return (await processor(new Float32Array(bytes.buffer))).input_features;
  },
};

for (let job = await hear(); job !== null; job = await hear()) {
  try {
    say({ answer: plain(await JOBS[job.how](job)) });
  } catch (error) {
    say({ error: String(error.stack ?? error) });
  }
}
