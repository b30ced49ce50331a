// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries that generate: one entry, then another again and again, each time with the tokens that
// were chosen. What a step gives for the next one lies in one of two sets of buffers, in turns.
#include "base/Tensor.h"
#include "run/Buffers.h"
#include "run/Generation.h"
#include "run/Sample.h"
#include "run/Settings.h"
#include "run/States.h"

using namespace attn;

attn_status Outputs::prepare(const attn_context &context, int32_t entry, const attn_tensor *inputs,
                             Error &error) {
  int32_t count = context.model->tables->entries[entry].outputCount;
  if (!tensors.resize(size_t(count)))
    return error.outOfMemory("the outputs of an entry");
  if (attn_status status = inferShapes(context, entry, inputs, tensors.data(), error))
    return status;
  uint64_t bytes = 0;
  for (attn_tensor &tensor : tensors)
    bytes += (uint64_t(byteSize(tensor)) + 63) / 64 * 64;
  if (bytes > memory.size() && !memory.allocate(bytes))
    return error.outOfMemory("the outputs of an entry");
  char *place = memory.data();
  for (attn_tensor &tensor : tensors) {
    tensor.data = place;
    tensor.strides = nullptr;
    tensor.deviceKind = ATTN_DEVICE_CPU, tensor.deviceIndex = 0;
    place += (uint64_t(byteSize(tensor)) + 63) / 64 * 64;
  }
  return ATTN_OK;
}

attn_status Generation::checkNumbers() {
  if (numbers.limit < 1 || numbers.limit > unfold.limit) {
    error.set(ATTN_INVALID_ARGUMENT, "R0101",
              "entry `%s`: a limit of %lld tokens, expected 1 to %lld", entry.name,
              static_cast<long long>(numbers.limit), static_cast<long long>(unfold.limit));
    error.help("the largest limit is that of the spec");
    return error.status;
  }
  if (const NumberSetting *wrong = wrongNumber(numbers))
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "entry `%s`: `%s` is %s", entry.name,
                     wrong->name, wrong->expected);
  if (const char *wrong = wrongList(numbers))
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "entry `%s`: `%s` is a list of tokens",
                     entry.name, wrong);
  return checkBeams();
}

attn_status Generation::checkBeams() {
  auto wrong = [&](const char *name, const char *range) {
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "entry `%s`: `%s` is %s", entry.name, name,
                     range);
  };
  if (beams == 1)
    return ATTN_OK;
  if (numbers.onScores)
    return wrong("beams", "1 where onScores is called");
  if (numbers.continues)
    return wrong("continues", "0 where there are beams");
  if (rowDim() >= 0)
    return ATTN_OK;
  error.set(ATTN_INVALID_ARGUMENT, "R0101",
            "entry `%s`: its number of rows is fixed: there is no room for beams", entry.name);
  error.help("beams are rows of `%s`, along an axis that is known only when running", step.name);
  return error.status;
}

attn_status Generation::readTokens() {
  rows = 1;
  for (int32_t a = 0; a < outputs[1].rank; ++a)
    rows *= outputs[1].shape[a];
  most = numbers.limit;
  bool isLong = unfold.begin < 0 && (numbers.maxLength > 0 || numbers.minLength > 0);
  if (!isLong && !rules.readsRow() && !rules.readsSource())
    return ATTN_OK;
  TokenSpan held;
  if (numbers.continues && numbers.held)
    held = {numbers.held, numbers.heldCount};
  int32_t taken = tables.entries[unfold.first].inputCount;
  if (attn_status status = prompt.read(entry, taken, inputs, rows, held, error))
    return status;
  int64_t before = unfold.begin >= 0 ? 1 : prompt.length();
  if (numbers.maxLength > 0 && numbers.maxLength - before < most)
    most = numbers.maxLength - before;
  if (most < 1) {
    error.set(ATTN_BAD_INPUT, "R0216",
              "entry `%s`: there are %lld tokens, and `max_length` is %lld with those that are "
              "written",
              entry.name, static_cast<long long>(before),
              static_cast<long long>(numbers.maxLength));
    error.help("give fewer tokens, or a larger `max_length` in the spec");
    return error.status;
  }
  textSize = rules.readsRow() ? before + most : 0;
  if (!texts.resize(size_t(rows * textSize)))
    return error.outOfMemory("the tokens of a prompt");
  for (int64_t row = 0; textSize > 0 && row < rows; ++row) {
    if (unfold.begin >= 0)
      textOf(row)[0] = int32_t(unfold.begin);
    else if (TokenSpan own = prompt.row(row); own.count > 0)
      memcpy(textOf(row), own.tokens, size_t(own.count) * sizeof(int32_t));
  }
  return ATTN_OK;
}

/// The positions that an entry adds to a cache with these dims.
static int64_t rowsOf(const attn_abi_entry &entry, int32_t cache, const int64_t *dims) {
  for (int32_t c = 0; c < entry.cacheCount; ++c)
    if (entry.caches[c].cache == cache)
      return axisSize(entry.caches[c].rows, dims);
  return 0;
}

/// The dims of a call with the caches that the first entry finds: empty ones, where the call does
/// not go on from what they hold.
static attn_status resolveFirst(const attn_context &context, int32_t entry,
                                const attn_generation &numbers, const attn_tensor *inputs,
                                const attn_tensor *outputs, int64_t *dims, Error &error) {
  if (numbers.continues)
    return resolveCall(context, entry, inputs, outputs, dims, error);
  return resolveDims(*context.model->tables, entry, inputs, outputs, nullptr, 0, dims, error);
}

attn_status Generation::checkRoom() {
  int64_t dims[maxDims];
  if (attn_status status =
          resolveFirst(context, unfold.first, numbers, inputs, nullptr, dims, error))
    return status;
  int64_t runs = most - (unfold.begin < 0 ? 1 : 0);
  for (int32_t c = 0; c < step.cacheCount; ++c) {
    const attn_abi_cache_use &use = step.caches[c];
    const attn_abi_cache &cache = tables.caches[use.cache];
    int64_t before = numbers.continues ? cacheOf(context, use.cache)->length : 0,
            held = before + rowsOf(tables.entries[unfold.first], use.cache, dims),
            all = held + runs * axisSize(use.rows, dims), capacity = tables.dims[cache.dim].value;
    if (use.use != ATTN_CACHE_PUSH || all <= capacity)
      continue;
    error.set(ATTN_BAD_INPUT, "R0207",
              "entry `%s` would fill cache `%s` with %lld positions, which holds %lld", entry.name,
              cache.name, static_cast<long long>(all), static_cast<long long>(capacity));
    error.help("give a smaller limit, or compile the model with a larger capacity");
    return error.status;
  }
  return ATTN_OK;
}

attn_status Generation::prepare() {
  const attn_tensor &counts = outputs[1];
  const attn_abi_tensor &scores = step.outputs[0];
  bool hasRoom = now.resize(size_t(rows)) && tokens.resize(size_t(rows * beams)) &&
                 stepInputs.resize(size_t(step.inputCount)) &&
                 rules.prepare(scores.axes[scores.rank - 1].offset);
  if (beams > 1)
    hasRoom = hasRoom && repeated.resize(size_t(step.inputCount)) &&
              search.prepare(rows, {beams, most, numbers.lengthPenalty,
                                    EarlyStopping(numbers.earlyStopping), numbers.stops,
                                    numbers.stopCount});
  if (!hasRoom)
    return error.outOfMemory("a generation");
  if (beams > 1)
    if (attn_status status = beamRows.checkRoom(entry, rows, error))
      return status;
  live = rows;
  for (int64_t row = 0; row < rows; ++row)
    now[size_t(row)] = 0, static_cast<int32_t *>(counts.data)[row] = 0;
  memset(outputs[0].data, 0xff, size_t(byteSize(outputs[0])));
  for (int32_t i = 0; i < unfold.stackedCount; ++i)
    memset(outputs[2 + i].data, 0, size_t(byteSize(outputs[2 + i])));
  if (numbers.continues)
    return ATTN_OK;
  forgetStates(context);
  for (int32_t number : {unfold.first, unfold.step})
    for (int32_t c = 0; c < tables.entries[number].cacheCount; ++c)
      cacheOf(context, tables.entries[number].caches[c].cache)->length = 0;
  return ATTN_OK;
}

bool Generation::isStop(int64_t token) const {
  for (int32_t i = 0; i < numbers.stopCount; ++i)
    if (numbers.stops[i] == token)
      return true;
  return false;
}

int32_t Generation::tokenInput() const {
  int32_t input = 0;
  while (unfold.sources[input].input >= 0 || unfold.sources[input].first >= 0 ||
         unfold.sources[input].step >= 0)
    ++input;
  return input;
}

int32_t Generation::rowDim() const {
  const attn_abi_tensor &taken = step.inputs[tokenInput()];
  int32_t dim = taken.rank > 0 ? taken.axes[0].dim : -1;
  return dim >= 0 && tables.dims[dim].isDynamic ? dim : -1;
}

void Generation::setTokens(int64_t row, int64_t token) {
  if (step.inputs[tokenInput()].dtype == ATTN_I64)
    tokens[size_t(row)] = token;
  else
    reinterpret_cast<int32_t *>(tokens.data())[row] = int32_t(token);
}

void Generation::applyRules(int64_t row, const TokenSpan &tokens, float *scores,
                            int64_t vocabulary) {
  int64_t before = unfold.begin >= 0 ? 1 : prompt.length();
  rules.apply(tokens, prompt.row(row), chosen, most, before + chosen, scores, vocabulary);
}

attn_status Generation::choose(attn_tensor &scores) {
  int64_t vocabulary = scores.shape[scores.rank - 1];
  auto *data = static_cast<float *>(scores.data);
  auto *all = static_cast<int32_t *>(outputs[0].data),
       *counts = static_cast<int32_t *>(outputs[1].data);
  for (int64_t row = 0; row < rows; ++row)
    if (now[size_t(row)] >= 0)
      applyRules(row, {textOf(row), textSize > 0 ? begun(row) + counts[row] : 0},
                 data + row * vocabulary, vocabulary);
  if (numbers.onScores)
    numbers.onScores(numbers.user, data, rows, vocabulary);
  for (int64_t row = 0; row < rows; ++row) {
    if (now[size_t(row)] < 0)
      continue;
    int32_t *own = all + row * unfold.limit;
    attn_sampling sampling = numbers.sampling;
    sampling.seed += uint64_t(row);
    int64_t token = drawToken(sampling, data + row * vocabulary, vocabulary, counts[row]);
    if (token < 0)
      return error.set(ATTN_INVALID_ARGUMENT, "R0209",
                       "entry `%s`: no score of token %lld in row %lld is a number", entry.name,
                       static_cast<long long>(chosen), static_cast<long long>(row));
    setTokens(row, token);
    if (isStop(token)) {
      now[size_t(row)] = -1, --live;
      continue;
    }
    now[size_t(row)] = int32_t(token);
    if (textSize > 0)
      textOf(row)[begun(row) + counts[row]] = int32_t(token);
    own[counts[row]++] = int32_t(token);
  }
  ++chosen;
  return ATTN_OK;
}

void Generation::bindInputs(Outputs *before) {
  for (int32_t i = 0; i < step.inputCount; ++i) {
    const attn_abi_source &source = unfold.sources[i];
    attn_tensor &input = stepInputs[size_t(i)];
    if (before && source.step >= 0)
      input = (*before)[source.step];
    else if (beams > 1 && repeated[size_t(i)].data)
      input = repeated[size_t(i)];
    else if (source.first >= 0)
      input = first[source.first];
    else if (source.input >= 0)
      input = inputs[source.input];
    else {
      input = {};
      input.data = tokens.data();
      input.dtype = step.inputs[i].dtype, input.rank = step.inputs[i].rank;
      for (int32_t a = 0; a < input.rank; ++a) {
        const attn_abi_axis &axis = step.inputs[i].axes[a];
        input.shape[a] = axis.dim < 0 ? axis.offset : rows * beams;
      }
      input.deviceKind = ATTN_DEVICE_CPU;
    }
  }
}

void Generation::keepStacked(Outputs &from) {
  for (int32_t i = 0; i < unfold.stackedCount; ++i) {
    const attn_tensor &tensor = from[unfold.stacked[i]];
    size_t bytes = size_t(byteSize(tensor));
    memcpy(static_cast<char *>(outputs[2 + i].data) + size_t(chosen) * bytes, tensor.data, bytes);
  }
}

attn_status Generation::run() {
  if (attn_status status = checkNumbers())
    return status;
  if (attn_status status = readTokens())
    return status;
  if (attn_status status = checkRoom())
    return status;
  if (attn_status status = prepare())
    return status;
  if (attn_status status = first.prepare(context, unfold.first, inputs, error))
    return status;
  if (attn_status status = runEntry(context, unfold.first, inputs, first.data(), error))
    return status;
  return beams > 1 ? goOnWithBeams() : goOn();
}

attn_status Generation::goOn() {
  if (unfold.begin >= 0)
    for (int64_t row = 0; row < rows; ++row)
      setTokens(row, unfold.begin);
  else if (attn_status status = choose(first[0]))
    return status;
  auto isWanted = [&] {
    return chosen == 0 || !numbers.onTokens ||
           numbers.onTokens(numbers.user, now.data(), rows) != 0;
  };
  Outputs *before = nullptr;
  for (int turn = 0; isWanted() && live > 0 && chosen < most; turn ^= 1) {
    Outputs &after = steps[turn];
    if (attn_status status = runStep(before, after))
      return status;
    keepStacked(after);
    if (attn_status status = choose(after[0]))
      return status;
    before = &after;
  }
  return ATTN_OK;
}

attn_status Generation::runStep(Outputs *before, Outputs &after) {
  bindInputs(before);
  if (attn_status status = after.prepare(context, unfold.step, stepInputs.data(), error))
    return status;
  return runEntry(context, unfold.step, stepInputs.data(), after.data(), error);
}

/// Whether a context's entry is one that generates; reported where it is not.
static const attn_abi_entry *generatingEntry(const attn_model *model, int32_t entry, Error &error) {
  if (model && generates(*model, entry))
    return &model->tables->entries[entry];
  error.set(ATTN_INVALID_ARGUMENT, "R0102", "there is no entry %d that generates", int(entry));
  return nullptr;
}

extern "C" attn_status attn_generation_default(const attn_model *model, int32_t entry,
                                               attn_generation *generation, char **message) {
  Error error;
  if (!generation)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_generation_default: null pointer");
  else if (const attn_abi_entry *found = generatingEntry(model, entry, error)) {
    *generation = {};
    generation->limit = found->unfold->limit;
    takeSettings(*found->unfold, *generation);
  }
  return error.report(message);
}

extern "C" attn_status attn_generate(attn_context *context, int32_t entry,
                                     const attn_generation *generation, const attn_tensor *inputs,
                                     const attn_tensor *outputs, char **message) {
  Error error;
  int64_t dims[maxDims];
  const attn_abi_entry *found = nullptr;
  if (!context || !generation || !outputs)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_generate: null pointer");
  else
    found = generatingEntry(context->model, entry, error);
  bool isFine =
      found &&
      resolveFirst(*context, entry, *generation, inputs, outputs, dims, error) == ATTN_OK &&
      checkBuffers(*found, inputs, outputs, context->gpu ? context->gpu->index() : -1, error) ==
          ATTN_OK;
  for (int32_t i = 0; isFine && i < found->outputCount; ++i)
    if (isOnDevice(outputs[i])) {
      error.set(ATTN_INVALID_ARGUMENT, "R0101", "entry `%s`: output `%s` is not in host memory",
                found->name, found->outputs[i].name);
      isFine = false;
    }
  if (isFine)
    Generation(*context, *found, *generation, inputs, outputs, error).run();
  return error.report(message);
}
