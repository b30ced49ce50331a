// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Runner.h"

#include "Report.h"
#include "core/Dtype.h"
#include "io/Checkpoint.h"
#include "io/Npy.h"
#include "main/Command.h"

namespace attn::tool {

struct Runner::State {
  const attn_abi_model *tables;
  attn_model *model = nullptr;
  attn_context *context = nullptr;
  attn::Checkpoint checkpoint;
  bool isRandom = false;
  uint64_t seed = 0;

  ~State() {
    attn_context_destroy(context);
    attn_model_destroy(model);
  }
};

static int failWithStatus(attn_status status, char *message) {
  int code = failWithMessage(ExitCode(attn::exitCode(status)), message ? message : "");
  attn_message_free(message);
  return code;
}

static int failWithError(const attn::Error &error) {
  return failWithMessage(ExitCode(attn::exitCode(error.status)), error.text.c_str());
}

Runner::Runner(const attn_abi_model *tables) : state(std::make_unique<State>()) {
  state->tables = tables;
}

Runner::~Runner() = default;

int Runner::bind(const std::string &path, uint64_t seed, int32_t threads) {
  char *message = nullptr;
  if (attn_status status = attn_model_create(state->tables, nullptr, &state->model, &message))
    return failWithStatus(status, message);
  state->isRandom = path.empty();
  state->seed = seed;
  attn::Error error;
  if (!state->isRandom && state->checkpoint.open(path.c_str(), error))
    return failWithError(error);
  attn_status status = state->isRandom ? attn_model_bind_random(state->model, seed, &message)
                                       : attn_model_bind_file(state->model, path.c_str(), &message);
  if (!status)
    status = attn_context_create(state->model, threads, &state->context, &message);
  return status ? failWithStatus(status, message) : Ok;
}

static int32_t readInteger(const attn_tensor &tensor, int64_t index, int64_t &value) {
  const char *at =
      static_cast<const char *>(tensor.data) + index * int64_t(attn_dtype_size(tensor.dtype));
  int32_t narrow;
  switch (tensor.dtype) {
  case ATTN_I32:
    memcpy(&narrow, at, sizeof narrow);
    return value = narrow, true;
  case ATTN_I64:
    memcpy(&value, at, sizeof value);
    return true;
  case ATTN_U8:
  case ATTN_BOOL:
    return value = static_cast<unsigned char>(*at), true;
  default:
    return false;
  }
}

Numbers toNumbers(const char *name, const attn_tensor &tensor) {
  Numbers numbers;
  numbers.name = name;
  numbers.shape.assign(tensor.shape, tensor.shape + tensor.rank);
  numbers.rounding = tensor.dtype == ATTN_F16 ? 0x1p-11 : tensor.dtype == ATTN_BF16 ? 0x1p-8 : 0;
  int64_t count = 0, integer = 0;
  attn::countElements(tensor.shape, tensor.rank, count);
  numbers.values.reserve(size_t(count));
  for (int64_t i = 0; i < count; ++i)
    numbers.values.push_back(readInteger(tensor, i, integer)
                                 ? double(integer)
                                 : double(attn::loadFloat(tensor.data, tensor.dtype, i)));
  return numbers;
}

/// The request as the command line that compiled executables take. The texts must outlive it.
static bool makeCommand(const Runner::Request &request, const std::vector<std::string> &texts,
                        attn::Command &command) {
  bool hasMemory = true;
  size_t used = 0;
  for (const auto &[name, file] : request.inputs)
    hasMemory &= command.inputs.push({name.c_str(), int(name.size()), file.c_str()});
  for (const auto &[name, size] : request.sizes)
    hasMemory &= command.sizes.push({name.c_str(), int(name.size()), texts[used++].c_str()});
  command.isBench = true; // inputs that are not given are drawn
  return hasMemory;
}

void Runner::emptyCaches() {
  for (int32_t i = 0; i < state->tables->cacheCount; ++i)
    attn_cache_truncate(state->context, i, 0, nullptr);
}

int Runner::run(const Request &request, std::vector<Numbers> &inputs,
                std::vector<Numbers> &outputs) {
  const attn_abi_entry &entry = state->tables->entries[request.entry];
  Request complete = request;
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    bool isGiven = false;
    for (const auto &[name, file] : request.inputs)
      isGiven |= name == entry.inputs[i].name;
    if (!isGiven)
      complete.inputs.push_back({entry.inputs[i].name, "random:" + std::to_string(request.seed)});
  }
  std::vector<std::string> texts;
  for (const auto &[name, size] : complete.sizes)
    texts.push_back(std::to_string(size));
  attn::Command command;
  attn::Error error;
  attn::Tensors given, made;
  if (!makeCommand(complete, texts, command))
    return fail(Environment, "no memory");
  if (attn::readInputs(command, *state->model, request.entry, given, error))
    return failWithError(error);
  char *message = nullptr;
  if (!made.list.resize(size_t(entry.outputCount)))
    return fail(Environment, "no memory");
  if (attn_status status = attn_infer_shapes(state->context, request.entry, given.list.data(),
                                             made.list.data(), &message))
    return failWithStatus(status, message);
  for (attn_tensor &tensor : made.list)
    if (!made.allocate(tensor))
      return fail(Environment, "no memory for the outputs");
  if (attn_status status =
          attn_run(state->context, request.entry, given.list.data(), made.list.data(), &message))
    return failWithStatus(status, message);
  for (int32_t i = 0; i < entry.inputCount; ++i)
    inputs.push_back(toNumbers(entry.inputs[i].name, given.list[size_t(i)]));
  for (int32_t i = 0; i < entry.outputCount; ++i)
    outputs.push_back(toNumbers(entry.outputs[i].name, made.list[size_t(i)]));
  return Ok;
}

bool Runner::readWeights(const std::string &name, const std::vector<int64_t> &shape,
                         std::vector<double> &values) const {
  int64_t count = 0;
  if (!attn::countElements(shape.data(), int32_t(shape.size()), count))
    return false;
  if (state->isRandom) {
    std::vector<float> drawn(static_cast<size_t>(count));
    if (attn_random_tensor(state->seed, name.c_str(), int32_t(shape.size()), shape.data(),
                           drawn.data()))
      return false;
    values.assign(drawn.begin(), drawn.end());
    return true;
  }
  const attn::StoredTensor *tensor = state->checkpoint.find(name.c_str());
  if (!tensor || !attn::isFloat(tensor->dtype) ||
      tensor->bytes != size_t(count) * attn_dtype_size(tensor->dtype))
    return false;
  attn::Vector<char> memory;
  attn::Error error;
  const char *bytes = attn::Checkpoint::bytesOf(*tensor, memory, error);
  if (!bytes)
    return false;
  values.resize(size_t(count));
  for (int64_t i = 0; i < count; ++i)
    values[size_t(i)] = double(attn::loadFloat(bytes, tensor->dtype, i));
  return true;
}

int readNumbers(const std::string &path, Numbers &numbers) {
  attn::Vector<char> bytes;
  attn::Error error;
  attn_tensor tensor = {};
  if (attn::readFile(path.c_str(), size_t(1) << 40, bytes, error) ||
      attn::readNpy(bytes, path.c_str(), tensor, error))
    return failWithError(error);
  numbers = toNumbers(path.c_str(), tensor);
  return Ok;
}

} // namespace attn::tool
