// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of numbers to tensors of the runtime, a run of an entry, and its outputs back to numbers.
#include "Runner.h"

#include "Emulator.h"
#include "base/Dtype.h"
#include "io/Checkpoint.h"
#include "io/Npy.h"
#include "main/Command.h"
#include "main/RandomInputs.h"
#include "tools/attn/support/RuntimeErrors.h"
#include <unistd.h>

namespace attn::tool {

struct Runner::State {
  const attn_abi_model *tables;
  attn_model *model = nullptr;
  attn_context *context = nullptr;
  attn::Checkpoint checkpoint;
  bool isRandom = false;
  Emulator *emulator = nullptr; ///< where that makes the outputs
  uint64_t seed = 0;
  bool hasRead = false;                          ///< notes about inputs have been printed
  std::vector<std::vector<int32_t>> kernelCalls; ///< of the last run of each entry

  /// After a run of an entry.
  void countCalls(int32_t entry);

  ~State() {
    attn_context_destroy(context);
    attn_model_destroy(model);
  }
};

Runner::Runner(const attn_abi_model *tables) : state(std::make_unique<State>()) {
  state->tables = tables;
}

Runner::~Runner() = default;

void Runner::emulate(Emulator &emulator) { state->emulator = &emulator; }

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
  command.cached = int32_t(request.cached);
  command.isBench = true; // inputs that are not given are drawn
  return hasMemory;
}

int Runner::readSizes(const std::vector<std::string> &settings, Sizes &sizes) const {
  attn::Command command;
  attn::Error error;
  std::vector<int64_t> dims(static_cast<size_t>(state->tables->dimCount));
  for (const std::string &setting : settings) {
    size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == setting.size())
      return fail(Usage, "`--set-size " + setting + "`: expected DIM=N");
    if (!command.sizes.push({setting.c_str(), int(equals), setting.c_str() + equals + 1}))
      return fail(Environment, "no memory");
    sizes.push_back({setting.substr(0, equals), 0});
  }
  if (attn::chooseSizes(command, *state->tables, dims.data(), error))
    return failWithError(error);
  for (auto &[name, size] : sizes)
    for (size_t d = 0; d < dims.size(); ++d)
      if (name == state->tables->dims[d].name)
        size = dims[d];
  return Ok;
}

void Runner::emptyCaches() {
  for (int32_t i = 0; i < state->tables->cacheCount; ++i)
    attn_cache_truncate(state->context, i, 0, nullptr);
}

int Runner::read(const Request &request, std::vector<Numbers> &inputs) {
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
  attn::Tensors given;
  if (!makeCommand(complete, texts, command))
    return fail(Environment, "no memory");
  command.isQuiet = state->hasRead;
  if (attn::readInputs(command, *state->model, request.entry, given, error))
    return failWithError(error);
  state->hasRead = true;
  for (int32_t i = 0; i < entry.inputCount; ++i)
    inputs.push_back(toNumbers(entry.inputs[i].name, given.list[size_t(i)]));
  return Ok;
}

/// A tensor of the numbers, in memory of `owner`; false where that is lacking.
static bool fromNumbers(const Numbers &numbers, int32_t dtype, attn::Tensors &owner,
                        attn_tensor &tensor) {
  tensor = {};
  tensor.dtype = dtype;
  tensor.rank = int32_t(numbers.shape.size());
  std::copy(numbers.shape.begin(), numbers.shape.end(), tensor.shape);
  if (!owner.allocate(tensor))
    return false;
  size_t width = attn_dtype_size(dtype);
  for (size_t i = 0; i < numbers.values.size(); ++i) {
    if (attn::isFloat(dtype)) {
      attn::storeFloat(float(numbers.values[i]), dtype, tensor.data, int64_t(i));
      continue;
    }
    int64_t whole = int64_t(numbers.values[i]);
    memcpy(static_cast<char *>(tensor.data) + i * width, &whole, width); // low bytes first
  }
  return true;
}

int Runner::run(int32_t number, const std::vector<Numbers> &inputs, std::vector<Numbers> &outputs) {
  const attn_abi_entry &entry = state->tables->entries[number];
  attn::Tensors given, made;
  if (!given.list.resize(inputs.size()) || !made.list.resize(size_t(entry.outputCount)))
    return fail(Environment, "no memory");
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!fromNumbers(inputs[i], entry.inputs[i].dtype, given, given.list[i]))
      return fail(Environment, "no memory for the inputs");
  char *message = nullptr;
  if (attn_status status =
          attn_infer_shapes(state->context, number, given.list.data(), made.list.data(), &message))
    return failWithStatus(status, message);
  for (attn_tensor &tensor : made.list)
    if (!made.allocate(tensor))
      return fail(Environment, "no memory for the outputs");
  if (attn_status status = attn_profile_enable(state->context, 1, &message))
    return failWithStatus(status, message);
  if (attn_status status =
          attn_run(state->context, number, given.list.data(), made.list.data(), &message))
    return failWithStatus(status, message);
  state->countCalls(number);
  if (state->emulator)
    return state->emulator->run(entry, given.list.data(), outputs);
  for (int32_t i = 0; i < entry.outputCount; ++i)
    outputs.push_back(toNumbers(entry.outputs[i].name, made.list[size_t(i)]));
  return Ok;
}

void Runner::State::countCalls(int32_t entry) {
  kernelCalls.resize(size_t(tables->entryCount));
  std::vector<int32_t> &calls = kernelCalls[size_t(entry)];
  calls.assign(size_t(tables->kernelCount), 0);
  const attn_kernel_event *events = nullptr;
  int64_t count = attn_profile_events(context, 0, &events);
  for (int64_t i = 0; i < count; ++i)
    if (events[i].kernel >= 0 && events[i].kernel < tables->kernelCount)
      ++calls[size_t(events[i].kernel)];
}

double Runner::operations(int32_t number, const Sizes &sizes, int64_t cached) const {
  const attn_abi_entry &entry = state->tables->entries[number];
  std::vector<int64_t> dims;
  for (int32_t d = 0; d < state->tables->dimCount; ++d) {
    const attn_abi_dim &dim = state->tables->dims[d];
    dims.push_back(dim.isDynamic ? 1 : dim.value);
    for (const auto &[name, size] : sizes)
      if (name == dim.name)
        dims.back() = size;
  }
  for (int32_t c = 0; c < entry.cacheCount; ++c) {
    const attn_abi_cache_use &use = entry.caches[c];
    auto dim = size_t(state->tables->caches[use.cache].dim);
    dims[dim] = use.use == ATTN_CACHE_READ ? state->tables->dims[dim].value
                                           : attn::axisSize(use.rows, dims.data()) +
                                                 (use.use == ATTN_CACHE_PUSH ? cached : 0);
  }
  double sum = 0;
  for (int32_t k = 0; k < state->tables->kernelCount; ++k)
    for (int32_t t = 0; t < state->tables->kernels[k].flopTerms; ++t) {
      const attn_abi_term &term = state->tables->kernels[k].flop[t];
      double product = double(term.factor) * state->kernelCalls[size_t(number)][size_t(k)];
      for (int32_t d : term.dims)
        product *= d >= 0 ? double(dims[size_t(d)]) : 1;
      sum += product;
    }
  return sum;
}

bool Runner::readWeights(const std::string &name, const std::vector<int64_t> &shape,
                         std::vector<double> &values, std::string &problem) const {
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
  int64_t own = 0;
  if (!tensor || !attn::isFloat(tensor->dtype) ||
      !attn::countElements(tensor->shape, tensor->rank, own) || own != count)
    return false;
  attn::Vector<char> memory;
  attn::Error error;
  const char *bytes = attn::Checkpoint::bytesOf(*tensor, memory, error);
  if (!bytes) {
    problem = error.text.c_str();
    return false;
  }
  values.resize(size_t(count));
  for (int64_t i = 0; i < count; ++i)
    values[size_t(i)] = double(attn::loadFloat(bytes, tensor->dtype, i));
  return true;
}

int readNumbers(const std::string &path, Numbers &numbers) {
  attn::Vector<char> bytes;
  attn::Error error;
  attn_tensor tensor = {};
  // It is kept twice, as bytes and as numbers.
  size_t most = size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGE_SIZE)) / 2;
  if (attn::readFile(path.c_str(), most, bytes, error) ||
      attn::readNpy(bytes, path.c_str(), tensor, error))
    return failWithError(error);
  numbers = toNumbers(path.c_str(), tensor);
  return Ok;
}

} // namespace attn::tool
