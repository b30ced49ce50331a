// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests to tensors, tensors to answers.
#include "serve/Kserve.h"

#include "base/Json.h"
#include "main/Command.h"
#include "main/Report.h"
#include "serve/Batch.h"
#include "serve/TensorData.h"
#include <cstdarg>
#include <cstdio>

namespace attn {

namespace {

/// One of "inputs", before its data are read.
struct GivenTensor {
  Vector<char> name, datatype;
  Vector<int64_t> shape;
  size_t dataBegin = 0; ///< of the value of "data" in the text
  bool hasData = false, hasShape = false;
  int64_t binarySize = -1; ///< parameter "binary_data_size"
};

/// A request of the protocol, and its tensors.
class InferRequest {
public:
  explicit InferRequest(Exchange &exchange) : exchange(exchange), target(*exchange.target) {}

  /// Reads inputs, and makes the part of them; an error is in the exchange afterwards.
  bool read() { return readHeader() && checkInputs() && makePart(); }
  /// Runs requests that are alike; their outputs are theirs afterwards.
  static attn_status compute(attn_context *context, Part *const *parts, size_t count,
                             char **message);
  void answer();

private:
  bool fail(const char *format, ...) __attribute__((format(printf, 2, 3)));
  bool isOutOfMemory() { return exchange.failWithoutMemory(); }

  bool readHeader();
  bool readTop(JsonReader &reader);
  bool readInput(JsonReader &reader);
  bool readOutputs(JsonReader &reader);
  bool readParameters(JsonReader &reader, const char *name, int64_t *number, bool *truth);
  bool setInput(const GivenTensor &given);
  bool checkInputs();
  bool makePart();
  bool answerTensor(const attn_tensor_info &info, const attn_tensor &tensor, bool isBinary,
                    Text &text);

  Exchange &exchange;
  const ServedEntry &target;
  size_t jsonSize = 0, binaryUsed = 0;
  Text id; ///< as JSON; empty without one
  Tensors inputs, outputs;
  Vector<int64_t> sizes;       ///< of all axes of the inputs, that of the batch left out
  Vector<char> isGiven;        ///< of each input
  Vector<char> isWanted;       ///< of each output, where the request lists some
  Vector<char> isWantedBinary; ///< likewise
  bool listsOutputs = false, wantsAllBinary = false;
};

bool InferRequest::fail(const char *format, ...) {
  va_list list;
  va_start(list, format);
  char words[1024];
  vsnprintf(words, sizeof words, format, list);
  va_end(list);
  exchange.fail(400, "%s", words);
  return false;
}

bool InferRequest::readHeader() {
  int32_t inputCount = attn_model_input_count(target.model, target.entry);
  int32_t outputCount = attn_model_output_count(target.model, target.entry);
  if (!inputs.list.resize(size_t(inputCount)) || !isGiven.resize(size_t(inputCount)) ||
      !outputs.list.resize(size_t(outputCount)) || !isWanted.resize(size_t(outputCount)) ||
      !isWantedBinary.resize(size_t(outputCount)))
    return isOutOfMemory();
  jsonSize = exchange.bodySize;
  if (exchange.headerSize >= 0) {
    if (uint64_t(exchange.headerSize) > exchange.bodySize)
      return fail("header `Inference-Header-Content-Length` is %lld, and the body has %zu bytes",
                  static_cast<long long>(exchange.headerSize), exchange.bodySize);
    jsonSize = size_t(exchange.headerSize);
  }
  JsonReader reader(exchange.body.data(), jsonSize);
  bool isRead = readTop(reader);
  if (exchange.status != 200)
    return false;
  if (!isRead || !reader.atEnd())
    return fail("the body is no JSON: %s at byte %zu",
                reader.problem ? reader.problem : "something follows its end", reader.position);
  size_t binarySize = exchange.bodySize - jsonSize;
  if (binaryUsed != binarySize)
    return fail(
        "the body holds %zu bytes behind the JSON, and its inputs take %zu (`binary_data_size`)",
        binarySize, binaryUsed);
  return true;
}

bool InferRequest::readTop(JsonReader &reader) {
  Vector<char> key, value;
  if (!reader.enterObject())
    return false;
  bool hasInputs = false;
  while (reader.nextKey(key)) {
    if (strcmp(key.data(), "inputs") == 0) {
      hasInputs = true;
      if (!reader.enterArray())
        return fail("`inputs` is no list");
      while (reader.nextElement())
        if (!readInput(reader))
          return false;
    } else if (strcmp(key.data(), "outputs") == 0) {
      if (!readOutputs(reader))
        return false;
    } else if (strcmp(key.data(), "id") == 0) {
      if (!reader.readString(value))
        return fail("`id` is no string");
      appendJsonString(id, value.data());
    } else if (strcmp(key.data(), "parameters") == 0) {
      if (!readParameters(reader, "binary_data_output", nullptr, &wantsAllBinary))
        return false;
    } else {
      return fail("the request has no field `%.64s`: it has id, parameters, inputs and outputs",
                  key.data());
    }
  }
  if (reader.isGood() && !hasInputs)
    return fail("`inputs` is missing");
  return reader.isGood();
}

/// An object of parameters, of which there is one: a number of bytes, or a truth.
bool InferRequest::readParameters(JsonReader &reader, const char *name, int64_t *number,
                                  bool *truth) {
  Vector<char> key;
  if (!reader.enterObject())
    return fail("`parameters` is no object");
  while (reader.nextKey(key)) {
    if (strcmp(key.data(), name) != 0)
      return fail("there is no parameter `%.64s` here: there is `%s`", key.data(), name);
    char first = reader.peek();
    bool isTruth = first == 't' || first == 'f';
    if (number && (first < '0' || first > '9' || !reader.readSize(*number)))
      return fail("parameter `%s` is no number of bytes", name);
    if (truth != nullptr && (!isTruth || !reader.skipWord(first == 't' ? "true" : "false")))
      return fail("parameter `%s` is neither true nor false", name);
    if (truth != nullptr)
      *truth = first == 't';
  }
  return reader.isGood();
}

bool InferRequest::readInput(JsonReader &reader) {
  GivenTensor given;
  Vector<char> key;
  if (!reader.enterObject())
    return fail("an element of `inputs` is no object");
  while (reader.nextKey(key)) {
    if (strcmp(key.data(), "name") == 0) {
      if (!reader.readString(given.name))
        return fail("the `name` of an input is no string");
    } else if (strcmp(key.data(), "datatype") == 0) {
      if (!reader.readString(given.datatype))
        return fail("the `datatype` of an input is no string");
    } else if (strcmp(key.data(), "shape") == 0) {
      given.hasShape = true;
      if (!reader.enterArray())
        return fail("the `shape` of an input is no list");
      while (reader.nextElement()) {
        int64_t size = 0;
        if (!reader.readSize(size))
          return fail("the `shape` of an input holds something else than sizes");
        if (!given.shape.push(size))
          return isOutOfMemory();
      }
    } else if (strcmp(key.data(), "data") == 0) {
      given.hasData = true;
      reader.peek(); // past white space
      given.dataBegin = reader.position;
      if (!reader.skipValue())
        return false;
    } else if (strcmp(key.data(), "parameters") == 0) {
      if (!readParameters(reader, "binary_data_size", &given.binarySize, nullptr))
        return false;
    } else {
      return fail(
          "an input has no field `%.64s`: it has name, datatype, shape, data and parameters",
          key.data());
    }
  }
  return reader.isGood() && setInput(given);
}

bool InferRequest::setInput(const GivenTensor &given) {
  if (given.name.empty())
    return fail("an input has no `name`");
  const char *name = given.name.data();
  attn_tensor_info info;
  int32_t index = 0;
  while (attn_model_input(target.model, target.entry, index, &info) == ATTN_OK &&
         strcmp(info.name, name) != 0)
    ++index;
  if (index == int32_t(inputs.list.size()))
    return fail("`%s` has no input `%.64s` (GET /v2/models/%s lists them)", target.name, name,
                target.name);
  if (isGiven[size_t(index)])
    return fail("input `%s` is given twice", name);
  if (given.datatype.empty() || strcmp(given.datatype.data(), datatypeName(info.dtype)) != 0)
    return fail("input `%s` has datatype `%.32s`, expected %s", name,
                given.datatype.empty() ? "" : given.datatype.data(), datatypeName(info.dtype));
  if (!given.hasShape || given.shape.size() != size_t(info.rank))
    return fail("input `%s` has %zu axes, expected %d", name, given.shape.size(), info.rank);
  attn_tensor &tensor = inputs.list[size_t(index)];
  tensor.dtype = info.dtype;
  tensor.rank = info.rank;
  for (int32_t axis = 0; axis < info.rank; ++axis) {
    int64_t size = given.shape[size_t(axis)];
    bool isRight =
        info.isDynamic[axis] ? size >= 1 && size <= info.shape[axis] : size == info.shape[axis];
    if (!isRight)
      return fail("input `%s`: axis %d (%s) has %lld elements, expected %s%lld", name, axis,
                  info.axisNames[axis], static_cast<long long>(size),
                  info.isDynamic[axis] ? "1 to " : "", static_cast<long long>(info.shape[axis]));
    tensor.shape[axis] = size;
  }
  if (!inputs.allocate(tensor))
    return isOutOfMemory();
  isGiven[size_t(index)] = 1;
  size_t bytes = tensorBytes(tensor);
  if (given.binarySize >= 0) {
    if (given.hasData)
      return fail("input `%s` has `data` and `binary_data_size`: one of them", name);
    if (uint64_t(given.binarySize) != bytes)
      return fail("input `%s` has a `binary_data_size` of %lld, expected %zu", name,
                  static_cast<long long>(given.binarySize), bytes);
    if (bytes > exchange.bodySize - jsonSize - binaryUsed)
      return fail("the body ends before the bytes of input `%s`", name);
    memcpy(tensor.data, exchange.body.data() + jsonSize + binaryUsed, bytes);
    binaryUsed += bytes;
    return true;
  }
  if (!given.hasData)
    return fail("input `%s` has no `data`", name);
  Text problem;
  if (!readTensorData(exchange.body.data() + given.dataBegin, jsonSize - given.dataBegin, tensor,
                      problem))
    return fail("input `%s`: %s", name, problem.c_str());
  return true;
}

bool InferRequest::readOutputs(JsonReader &reader) {
  listsOutputs = true;
  Vector<char> key, name;
  if (!reader.enterArray())
    return fail("`outputs` is no list");
  while (reader.nextElement()) {
    bool isBinary = false;
    name.clear();
    if (!reader.enterObject())
      return fail("an element of `outputs` is no object");
    while (reader.nextKey(key)) {
      if (strcmp(key.data(), "name") == 0) {
        if (!reader.readString(name))
          return fail("the `name` of an output is no string");
      } else if (strcmp(key.data(), "parameters") == 0) {
        if (!readParameters(reader, "binary_data", nullptr, &isBinary))
          return false;
      } else {
        return fail("an output has no field `%.64s`: it has name and parameters", key.data());
      }
    }
    if (!reader.isGood())
      return false;
    if (name.empty())
      return fail("an output has no `name`");
    attn_tensor_info info;
    int32_t index = 0;
    while (attn_model_output(target.model, target.entry, index, &info) == ATTN_OK &&
           strcmp(info.name, name.data()) != 0)
      ++index;
    if (index == int32_t(outputs.list.size()))
      return fail("`%s` has no output `%.64s` (GET /v2/models/%s lists them)", target.name,
                  name.data(), target.name);
    isWanted[size_t(index)] = 1;
    isWantedBinary[size_t(index)] = isBinary;
  }
  return reader.isGood();
}

bool InferRequest::checkInputs() {
  attn_tensor_info info;
  for (size_t i = 0; i < inputs.list.size(); ++i) {
    attn_model_input(target.model, target.entry, int32_t(i), &info);
    if (!isGiven[i] && !info.isState)
      return fail("input `%s` is missing", info.name);
    if (!isGiven[i]) { // as after a reset
      inputs.list[i].dtype = info.dtype;
      inputs.list[i].rank = info.rank;
    }
  }
  return true;
}

bool InferRequest::makePart() {
  BatchAxes axes(*target.model->tables, target.entry);
  bool isWhole = true;
  for (size_t i = 0; i < inputs.list.size(); ++i) {
    if (!isGiven[i])
      axes.batch = -1; // what a reset leaves has the rows of one request
    int32_t batchAxis = axes.ofInput(i);
    for (int32_t axis = 0; axis < inputs.list[i].rank; ++axis)
      if (axis != batchAxis)
        isWhole &= sizes.push(inputs.list[i].shape[axis]);
  }
  if (!isWhole || !exchange.makeParts(1))
    return isOutOfMemory();
  Part &part = exchange.parts[0];
  part.sizes = sizes.data();
  part.sizeCount = sizes.size();
  if (axes.batch < 0)
    return true;
  part.rows = axes.rowsOf(inputs.list.data());
  part.mostRows = axes.mostRows(inputs.list.data());
  for (size_t i = 1; i < inputs.list.size(); ++i)
    if (inputs.list[i].shape[axes.ofInput(i)] != part.rows)
      part.mostRows = 1; // attn_run says what is wrong with it
  return true;
}

/// Runs an entry on tensors; outputs get their memory.
static attn_status runEntry(attn_context *context, const ServedEntry &target, const Tensors &inputs,
                            Tensors &outputs, char **message) {
  attn_status status = attn_context_reset(context, message);
  if (!status)
    status =
        attn_infer_shapes(context, target.entry, inputs.list.data(), outputs.list.data(), message);
  for (size_t i = 0; !status && i < outputs.list.size(); ++i)
    if (!outputs.allocate(outputs.list[i]))
      return ATTN_OUT_OF_MEMORY;
  attn_generation generation;
  if (!status &&
      attn_generation_default(target.model, target.entry, &generation, nullptr) == ATTN_OK)
    return attn_generate(context, target.entry, &generation, inputs.list.data(),
                         outputs.list.data(), message);
  return status ? status
                : attn_run(context, target.entry, inputs.list.data(), outputs.list.data(), message);
}

attn_status InferRequest::compute(attn_context *context, Part *const *parts, size_t count,
                                  char **message) {
  auto requestOf = [&](size_t i) { return static_cast<InferRequest *>(parts[i]->exchange->work); };
  InferRequest &first = *requestOf(0);
  if (count == 1)
    return runEntry(context, first.target, first.inputs, first.outputs, message);
  BatchAxes axes(*first.target.model->tables, first.target.entry);
  Tensors inputs, outputs;
  Vector<attn_tensor *> pieces;
  if (!inputs.list.resize(first.inputs.list.size()) ||
      !outputs.list.resize(first.outputs.list.size()) || !pieces.resize(count))
    return ATTN_OUT_OF_MEMORY;
  for (size_t i = 0; i < inputs.list.size(); ++i) {
    for (size_t p = 0; p < count; ++p)
      pieces[p] = &requestOf(p)->inputs.list[i];
    if (!joinTensors(pieces, axes.ofInput(i), inputs, inputs.list[i]))
      return ATTN_OUT_OF_MEMORY;
  }
  if (attn_status status = runEntry(context, first.target, inputs, outputs, message))
    return status;
  for (size_t i = 0; i < outputs.list.size(); ++i) {
    int64_t row = 0;
    for (size_t p = 0; p < count; ++p) {
      Tensors &own = requestOf(p)->outputs;
      if (!cutTensor(outputs.list[i], axes.ofOutput(i), row, parts[p]->rows, own, own.list[i]))
        return ATTN_OUT_OF_MEMORY;
      row += parts[p]->rows;
    }
  }
  return ATTN_OK;
}

bool InferRequest::answerTensor(const attn_tensor_info &info, const attn_tensor &tensor,
                                bool isBinary, Text &text) {
  text.append("{\"name\": ");
  appendJsonString(text, info.name);
  text.append(", \"datatype\": \"%s\", \"shape\": [", datatypeName(info.dtype));
  for (int32_t axis = 0; axis < tensor.rank; ++axis)
    text.append(axis ? ", %lld" : "%lld", static_cast<long long>(tensor.shape[axis]));
  if (isBinary) {
    text.append("], \"parameters\": {\"binary_data_size\": %zu}}", tensorBytes(tensor));
    return true;
  }
  text.append("], \"data\": ");
  Text problem;
  if (!writeTensorData(tensor, text, problem)) {
    exchange.fail(422, "output `%s` %s, which JSON has no word for: ask for it by `binary_data`",
                  info.name, problem.c_str());
    return false;
  }
  text.append("}");
  return true;
}

void InferRequest::answer() {
  Text text;
  text.append("{\"model_name\": \"%s\", \"model_version\": \"1\"", target.name);
  if (id.size())
    text.append(", \"id\": %s", id.c_str());
  text.append(", \"outputs\": [");
  bool isFirst = true, hasBinary = false;
  auto isShown = [&](size_t i) { return !listsOutputs || isWanted[i]; };
  auto isBinary = [&](size_t i) { return listsOutputs ? bool(isWantedBinary[i]) : wantsAllBinary; };
  for (size_t i = 0; i < outputs.list.size(); ++i) {
    attn_tensor_info info;
    attn_model_output(target.model, target.entry, int32_t(i), &info);
    if (!isShown(i))
      continue;
    if (!isFirst)
      text.append(", ");
    isFirst = false;
    hasBinary |= isBinary(i);
    if (!answerTensor(info, outputs.list[i], isBinary(i), text))
      return;
  }
  text.append("]}");
  bool isWhole = !text.failed() && exchange.answer.append(text.c_str(), text.size());
  if (hasBinary) {
    exchange.answerHeaderSize = int64_t(text.size());
    exchange.type = "application/octet-stream";
    for (size_t i = 0; i < outputs.list.size(); ++i)
      if (isShown(i) && isBinary(i))
        isWhole &= exchange.answer.append(static_cast<const char *>(outputs.list[i].data),
                                          tensorBytes(outputs.list[i]));
  }
  if (!isWhole)
    isOutOfMemory();
}

} // namespace

const RequestKind inferRequests = {
    [](Exchange &exchange) {
      auto *request = create<InferRequest>(exchange);
      exchange.work = request;
      if (!request)
        exchange.failWithoutMemory();
      else
        request->read();
    },
    InferRequest::compute,
    [](Exchange &exchange) { static_cast<InferRequest *>(exchange.work)->answer(); },
    [](void *work) { dispose(static_cast<InferRequest *>(work)); },
};

} // namespace attn
