// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A server of the scripted model, as clients that people have see it: OpenAI's own, its library of agents, and the AI SDK.
//
// usage: node clients.mjs URL MODULES
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [url, modules] = process.argv.slice(2);
const require = createRequire(modules + "/here.js");
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { default: OpenAI } = await load("openai");
const client = new OpenAI({ baseURL: url + "/v1", apiKey: "none", maxRetries: 0 });
const model = "Scripted.tell";
const user = (content) => [{ role: "user", content }];
const parameters = { type: "object", properties: { place: { type: "string" }, days: { type: "integer" } }, required: ["place", "days"], additionalProperties: false };
const tools = [{ type: "function", function: { name: "weather", description: "The weather", parameters } }];
const HELLO = "Hello there! How are you?";

async function chats() {
  const whole = await client.chat.completions.create({ model, messages: [{ role: "developer", content: "Be brief." }, ...user("Hi")] });
  assert.equal(whole.choices[0].message.content, HELLO);
  assert.equal(whole.choices[0].finish_reason, "stop");
  assert.equal(whole.usage.total_tokens, whole.usage.prompt_tokens + 7);
  let text = "", usage;
  const stream = await client.chat.completions.create({ model, messages: user("Hi"), stream: true, stream_options: { include_usage: true } });
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? "";
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, HELLO);
  assert.equal(usage.completion_tokens, 7);
  const thought = await client.chat.completions.create({ model, messages: user("Hi"), chat_template_kwargs: { enable_thinking: true } });
  assert.deepEqual([thought.choices[0].message.reasoning_content, thought.choices[0].message.content], ["Hm, yes.", "Done."]);
  const completion = await client.completions.create({ model, prompt: [72, 258], max_tokens: 3 });
  assert.equal(completion.choices[0].text, "Hello there!");
  const page = await client.models.list();
  assert.ok(page.data.some((one) => one.id === model));
  assert.equal((await client.models.retrieve(model)).id, model);
  const vectors = await client.embeddings.create({ model: "Scripted", input: ["Hi", "there"] });
  assert.equal(vectors.data.length, 2);
  assert.ok(Math.abs(vectors.data[0].embedding.reduce((a, b) => a + b) - 1) < 1e-5);
  console.log("openai: chats, streams, thoughts, tokens, models, vectors");
}

async function callTools() {
  // The helper accumulates deltas, runs functions and asks again.
  const asked = [];
  const runner = client.chat.completions.runTools({
    model,
    messages: user("Hi"),
    stream: true,
    tools: [{ type: "function", function: { name: "weather", parameters, parse: JSON.parse, function: (given) => (asked.push(given), "rain") } }],
  });
  assert.equal(await runner.finalContent(), "It rains.");
  assert.deepEqual(asked, [{ place: "Köln", days: 3 }]);
  const both = await client.chat.completions.create({ model, messages: user("both"), tools });
  assert.deepEqual(both.choices[0].message.tool_calls.map((call) => JSON.parse(call.function.arguments).place), ["Ulm", "Bonn"]);
  assert.equal(both.choices[0].finish_reason, "tool_calls");
  const one = await client.chat.completions.create({ model, messages: user("both"), tools, parallel_tool_calls: false });
  assert.equal(one.choices[0].message.tool_calls.length, 1);
  const none = await client.chat.completions.create({ model, messages: user("Hi"), tools, tool_choice: "none" });
  assert.equal(none.choices[0].message.content, HELLO);
  const broken = await client.chat.completions.create({ model, messages: user("broken"), tools });
  assert.equal(broken.choices[0].message.content, '<tool_call>{"name": "weather", "arguments": [}');
  console.log("openai: tools, one by one and several at a time");
}

async function responses() {
  const response = await client.responses.create({ model, instructions: "Be brief.", input: "Hi", store: false });
  assert.equal(response.output_text, HELLO);
  assert.equal(response.status, "completed");
  const flat = [{ type: "function", name: "weather", parameters, strict: false }];
  const stream = client.responses.stream({ model, input: "Hi", tools: flat });
  const types = [];
  for await (const event of stream) types.push(event.type);
  const final = await stream.finalResponse();
  assert.deepEqual(final.output.map((item) => item.type), ["message", "function_call"]);
  assert.equal(final.output_text, "Let me see.");
  const call = final.output[1];
  assert.deepEqual([call.name, JSON.parse(call.arguments)], ["weather", { place: "Köln", days: 3 }]);
  assert.deepEqual([types[0], types.at(-1)], ["response.created", "response.completed"]);
  const next = await client.responses.create({ model, tools: flat, input: [...user("Hi"), ...final.output, { type: "function_call_output", call_id: call.call_id, output: "rain" }] });
  assert.equal(next.output_text, "It rains.");
  const cut = await client.responses.create({ model, input: "long", max_output_tokens: 5 });
  assert.deepEqual([cut.status, cut.incomplete_details.reason], ["incomplete", "max_output_tokens"]);
  console.log("openai: responses, their events and items");
}

async function structures() {
  // Of all that the schema allows, the model takes what stands first in its vocabulary.
  const { zodResponseFormat, zodTextFormat } = await load("openai/helpers/zod");
  const { z } = await load("zod");
  const shape = z.object({ place: z.enum(["Ulm", "Bonn"]), days: z.number().int(), sure: z.boolean(), more: z.array(z.object({ name: z.string().max(3) })).min(2).max(2) });
  const parsed = await client.chat.completions.parse({ model, messages: user("Hi"), response_format: zodResponseFormat(shape, "weather") });
  const { message, finish_reason } = parsed.choices[0];
  assert.deepEqual([shape.parse(message.parsed).more.length, finish_reason], [2, "stop"]);
  const response = await client.responses.parse({ model, input: "Hi", text: { format: zodTextFormat(shape, "weather") } });
  assert.deepEqual(response.output_parsed, message.parsed);
  assert.equal(response.text.format.type, "json_schema");
  for (let seed = 0; seed < 4; ++seed) {
    const drawn = await client.chat.completions.create({ model, messages: user("Hi"), temperature: 3, seed, response_format: zodResponseFormat(shape, "weather") });
    shape.parse(JSON.parse(drawn.choices[0].message.content));
  }
  let text = "";
  for await (const chunk of await client.chat.completions.create({ model, messages: user("Hi"), stream: true, response_format: zodResponseFormat(shape, "weather") }))
    text += chunk.choices[0]?.delta?.content ?? "";
  assert.equal(text, message.content);
  const marked = { type: "json_schema", json_schema: { name: "a", schema: { const: "<think>b</think>" } } };
  assert.equal((await client.chat.completions.create({ model, messages: user("Hi"), response_format: marked })).choices[0].message.content, '"<think>b</think>"');
  const object = await client.chat.completions.create({ model, messages: user("Hi"), max_tokens: 5, response_format: { type: "json_object" } });
  assert.ok(object.choices[0].message.content.startsWith("{"));
  const gbnf = await client.completions.create({ model, prompt: "Hi", grammar: 'root ::= "rain" | "sun"' });
  assert.ok(["rain", "sun"].includes(gbnf.choices[0].text));
  const choice = await Promise.all(["rain", "snow", "sun", "hail"].map((word) => client.completions.create({ model, prompt: "Hi", grammar: `root ::= "${word}"` })));
  assert.deepEqual(choice.map((one) => one.choices[0].text), ["rain", "snow", "sun", "hail"]);
  // Probabilities of tokens, of an answer that is cut.
  const told = await client.chat.completions.create({ model, messages: user("Hi"), max_tokens: 2, logprobs: true, top_logprobs: 2 });
  const { content } = told.choices[0].logprobs;
  assert.deepEqual(content.map((one) => one.token), ["Hello", " there"]);
  for (const one of content) {
    assert.deepEqual([one.top_logprobs.length, one.top_logprobs[0].token, one.top_logprobs[0].logprob], [2, one.token, one.logprob]);
    assert.deepEqual([Buffer.from(one.bytes).toString(), one.top_logprobs[1].token], [one.token, "!"]);
    assert.ok(Math.abs(one.logprob - one.top_logprobs[1].logprob - 1) < 1e-5); // by the model's table
  }
  const streamed = [];
  for await (const chunk of await client.chat.completions.create({ model, messages: user("Hi"), stream: true, logprobs: true }))
    streamed.push(...(chunk.choices[0]?.logprobs?.content ?? []).map((one) => one.token));
  assert.equal(streamed.join(""), HELLO);
  const legacy = await client.completions.create({ model, prompt: [72, 258], max_tokens: 3, logprobs: 1 });
  assert.deepEqual(legacy.choices[0].logprobs.tokens, ["Hello", " there", "!"]);
  assert.deepEqual(legacy.choices[0].logprobs.text_offset, [0, 5, 11]);
  assert.deepEqual(legacy.choices[0].logprobs.top_logprobs.map((tops) => Object.keys(tops)), [["Hello"], [" there"], ["!"]]);
  // A bias on a token.
  const { tokens } = await (await fetch(url + "/tokenize", { method: "POST", body: JSON.stringify({ content: "?" }) })).json();
  const biased = await client.completions.create({ model, prompt: "Hi", max_tokens: 3, logit_bias: { [tokens[0]]: 100 } });
  assert.equal(biased.choices[0].text, "???");
  console.log("openai: answers that follow schemas and grammars");
}

async function mistakes() {
  const wrong = async (status, words, request) => {
    const error = await request.then(() => null, (error) => error);
    assert.ok(error instanceof OpenAI.APIError && error.status === status && error.message.includes(words), `${words}: ${error}`);
    return error;
  };
  const chat = (more) => client.chat.completions.create({ model, messages: user("Hi"), ...more });
  const error = await wrong(400, "`tool_choice` asks for a call", chat({ tools, tool_choice: "required" }));
  assert.ok(error instanceof OpenAI.BadRequestError && error.type === "invalid_request_error");
  await wrong(400, "`strict`", chat({ tools: [{ type: "function", function: { name: "a", strict: true } }] }));
  await wrong(400, "two tools are called `weather`", chat({ tools: [...tools, ...tools] }));
  await wrong(400, "no such turns", chat({ messages: user("refuse") }));
  await wrong(400, "knows no `effort`", chat({ chat_template_kwargs: { effort: 1 } }));
  await wrong(400, "no field `temperatur`", chat({ temperatur: 1 }));
  await wrong(400, "takes no pictures", chat({ messages: user([{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }]) }));
  await wrong(400, "expected data:image/png", chat({ messages: user([{ type: "image_url", image_url: { url: "https://example.org/a.png" } }]) }));
  await wrong(400, "are no JSON object", chat({ messages: [{ role: "assistant", tool_calls: [{ id: "1", type: "function", function: { name: "a", arguments: "{" } }] }] }));
  const schema = (given) => ({ response_format: { type: "json_schema", json_schema: { name: "a", schema: given } } });
  await wrong(400, "/properties/a/uniqueItems", chat(schema({ type: "object", properties: { a: { type: "array", uniqueItems: true } } })));
  await wrong(400, "beside `tools`", chat({ tools, ...schema({ type: "object" }) }));
  await wrong(400, "has no `json_schema`", chat({ response_format: { type: "json_schema" } }));
  await wrong(400, "`logprobs` is 0 to 20", client.completions.create({ model, prompt: "Hi", logprobs: 21 }));
  await wrong(400, "needs `logprobs`", chat({ top_logprobs: 2 }));
  await wrong(400, '`logit_bias` says "a"', chat({ logit_bias: { a: 1 } }));
  await wrong(400, '`logit_bias` says "1"', chat({ logit_bias: { 1: 101 } }));
  await wrong(400, "is of type `xml`", chat({ response_format: { type: "xml" } }));
  await wrong(400, "grammar:1:11: expected `)`", client.completions.create({ model, prompt: "Hi", grammar: "root ::= (" }));
  await wrong(404, "there is no model `other`", chat({ model: "other" }));
  await wrong(400, "`previous_response_id`", client.responses.create({ model, input: "Hi", previous_response_id: "resp_1" }));
  await wrong(400, "`store` may only be false", client.responses.create({ model, input: "Hi", store: true }));
  await wrong(400, "is a `item_reference`", client.responses.create({ model, input: [{ type: "item_reference", id: "1" }] }));
  await wrong(404, "writes sounds down", client.audio.transcriptions.create({ model: "Scripted", file: new File(["RIFF"], "a.wav") }));
  console.log("openai: mistakes");
}

async function cancels() {
  const controller = new AbortController();
  const stream = await client.chat.completions.create({ model, messages: user("long"), stream: true }, { signal: controller.signal });
  let count = 0;
  for await (const chunk of stream) if (++count === 3) controller.abort();
  assert.ok(count >= 3);
  assert.equal((await client.chat.completions.create({ model, messages: user("Hi") })).choices[0].message.content, HELLO);
  console.log("openai: a stream that is cancelled");
}

async function agents() {
  const { Agent, run, tool, setDefaultOpenAIClient, setOpenAIAPI, setTracingDisabled } = await load("@openai/agents");
  setDefaultOpenAIClient(client);
  setTracingDisabled(true);
  for (const api of ["chat_completions", "responses"]) {
    setOpenAIAPI(api);
    const asked = [];
    const weather = tool({ name: "weather", description: "The weather", parameters, strict: false, execute: async (given) => (asked.push(given), "rain") });
    const agent = new Agent({ name: "Weather", instructions: "Be brief.", model, tools: [weather] });
    assert.equal((await run(agent, "Hi")).finalOutput, "It rains.");
    const streamed = await run(agent, "Hi", { stream: true });
    for await (const event of streamed) void event;
    await streamed.completed;
    assert.equal(streamed.finalOutput, "It rains.");
    assert.deepEqual(asked, [{ place: "Köln", days: 3 }, { place: "Köln", days: 3 }]);
  }
  console.log("@openai/agents: by both paths, whole and streamed");
}

async function sdk() {
  const { generateText, streamText, embed, tool, jsonSchema, stepCountIs } = await load("ai");
  const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
  const provider = createOpenAICompatible({ name: "attn", baseURL: url + "/v1", includeUsage: true });
  const weather = tool({ description: "The weather", inputSchema: jsonSchema(parameters), execute: async () => "rain" });
  const done = await generateText({ model: provider(model), prompt: "Hi", tools: { weather }, stopWhen: stepCountIs(3) });
  assert.equal(done.text, "It rains.");
  assert.deepEqual(done.steps[0].toolCalls[0].input, { place: "Köln", days: 3 });
  const stream = streamText({ model: provider(model), prompt: "Hi", tools: { weather }, stopWhen: stepCountIs(3) });
  let text = "";
  for await (const piece of stream.textStream) text += piece;
  assert.equal(text, "Let me see.It rains.");
  const vector = await embed({ model: provider.textEmbeddingModel("Scripted.embed"), value: "Hi" });
  assert.ok(vector.embedding.length > 256);
  console.log("ai: tools in steps, streams, vectors");
}

for (const part of [chats, callTools, responses, structures, mistakes, cancels, agents, sdk]) await part();
process.exit(0);
