// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classifies a grey picture with the shared library of a compiled model, from Node by koffi (npm install koffi).
//
// usage: node classify.mjs LIBRARY WEIGHTS
import koffi from 'koffi';

const [library, weights] = process.argv.slice(2);
const attn = koffi.load(library);
koffi.struct('attn_tensor', {
  data: 'void *', dtype: 'int32_t', rank: 'int32_t', shape: 'int64_t[8]', strides: 'void *', deviceKind: 'int32_t', deviceIndex: 'int32_t',
});

/** A function of attn.h whose last argument is the message of an error: throws it. */
function api(name, ...types) {
  const call = attn.func(name, 'int', [...types, koffi.out(koffi.pointer('void *'))]);
  return (...values) => {
    const message = [null];
    if (call(...values, message) !== 0)
      throw new Error(message[0] ? koffi.decode(message[0], 'char', -1) : name);
  };
}
const handle = koffi.out(koffi.pointer('void *'));
const createModel = api('attn_model_create', 'void *', 'str', handle);
const bindFile = api('attn_model_bind_file', 'void *', 'str');
const createContext = api('attn_context_create', 'void *', 'int32_t', handle);
const run = api('attn_run', 'void *', 'int32_t', 'attn_tensor *', koffi.inout('attn_tensor *'));

/** A dense tensor of f32 in a Float32Array. */
const floats = (shape, data) => ({
  data, dtype: 0, rank: shape.length, shape: [...shape, ...Array(8 - shape.length).fill(0)], strides: null, deviceKind: 0, deviceIndex: 0,
});

const model = [null], context = [null];
// `attn_model` is the name that every shared library has for its tables.
createModel(attn.symbol('attn_model', 'void *'), null, model);
bindFile(model[0], weights);
createContext(model[0], 0, context);
const image = new Float32Array(28 * 28).fill(0.5), scores = new Float32Array(10);
run(context[0], 0, floats([1, 1, 28, 28], image), floats([1, 10], scores));
console.log(JSON.stringify(Array.from(scores)));
