// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of compiled variants to the times of their kernels: a model, a context and random inputs
// for each variant, and the runtime's profile of each run.
#include "KernelTimer.h"

#include "main/Command.h"
#include "run/Model.h"
#include "tools/attn/support/RuntimeErrors.h"
#include <algorithm>

namespace attn::tool {
namespace {

struct Variant {
  attn_model *model = nullptr;
  attn_context *context = nullptr;

  Variant() = default;
  Variant(const Variant &) = delete;
  Variant &operator=(const Variant &) = delete;
  ~Variant() {
    attn_context_destroy(context);
    attn_model_destroy(model);
  }
};

/// What an entry takes and gives.
struct Buffers {
  attn::Tensors inputs, outputs;
};

} // namespace

struct KernelTimer::State {
  int32_t threads;
  std::vector<std::pair<std::string, int64_t>> sizes;
  std::vector<std::unique_ptr<Variant>> variants; // the first one owns the weights
  std::vector<std::unique_ptr<Buffers>> entries;
};

KernelTimer::KernelTimer(int32_t threads, std::vector<std::pair<std::string, int64_t>> sizes)
    : state(std::make_unique<State>()) {
  state->threads = threads;
  state->sizes = std::move(sizes);
}

KernelTimer::~KernelTimer() { keep(0); }

void KernelTimer::keep(size_t count) {
  while (state->variants.size() > count)
    state->variants.pop_back();
}

int32_t KernelTimer::threads() const {
  return attn_context_threads(state->variants.front()->context);
}

/// Draws inputs for an entry and makes room for its outputs.
static int prepare(const Variant &variant, int32_t entry,
                   const std::vector<std::pair<std::string, int64_t>> &sizes, Buffers &buffers) {
  attn::Command command;
  command.isBench = true; // inputs are drawn
  std::vector<std::string> texts;
  texts.reserve(sizes.size());
  for (const auto &[name, size] : sizes) {
    texts.push_back(std::to_string(size));
    if (!command.sizes.push({name.c_str(), int(name.size()), texts.back().c_str()}))
      return fail(Environment, "no memory");
  }
  attn::Error error;
  if (attn::readInputs(command, *variant.model, entry, buffers.inputs, error))
    return failWithMessage(ExitCode(attn::exitCode(error.status)), error.text.c_str());
  size_t count = size_t(variant.model->tables->entries[entry].outputCount);
  if (!buffers.outputs.list.resize(count))
    return fail(Environment, "no memory");
  char *message = nullptr;
  if (attn_status status = attn_infer_shapes(variant.context, entry, buffers.inputs.list.data(),
                                             buffers.outputs.list.data(), &message))
    return failWithStatus(status, message);
  for (attn_tensor &tensor : buffers.outputs.list)
    if (!buffers.outputs.allocate(tensor))
      return fail(Environment, "no memory for the outputs");
  return Ok;
}

int KernelTimer::add(const attn_abi_model *tables) {
  auto variant = std::make_unique<Variant>();
  char *message = nullptr;
  attn_status status = attn_model_create(tables, nullptr, &variant->model, &message);
  // How weights are packed does not depend on tiles.
  if (!status && state->variants.empty())
    status = attn_model_bind_random(variant->model, 0, &message);
  else if (!status)
    variant->model->weights = state->variants.front()->model->weights;
  if (!status)
    status = attn_context_create(variant->model, state->threads, &variant->context, &message);
  if (!status)
    status = attn_profile_enable(variant->context, 1, &message);
  if (status)
    return failWithStatus(status, message);
  for (int32_t entry = int32_t(state->entries.size()); entry < tables->entryCount; ++entry) {
    state->entries.push_back(std::make_unique<Buffers>());
    if (int code = prepare(*variant, entry, state->sizes, *state->entries.back()))
      return code;
  }
  state->variants.push_back(std::move(variant));
  return Ok;
}

int KernelTimer::run(size_t number, std::vector<double> &times) {
  const Variant &variant = *state->variants[number];
  std::vector<double> sums(times.size());
  for (size_t entry = 0; entry < state->entries.size(); ++entry) {
    if (variant.model->tables->entries[entry].unfold) // which runs others
      continue;
    const Buffers &buffers = *state->entries[entry];
    char *message = nullptr;
    if (attn_status status = attn_run(variant.context, int32_t(entry), buffers.inputs.list.data(),
                                      buffers.outputs.list.data(), &message))
      return failWithStatus(status, message);
    const attn_kernel_event *events = nullptr;
    int64_t count = attn_profile_events(variant.context, 0, &events);
    for (int64_t i = 0; i < count; ++i)
      if (size_t kernel = size_t(events[i].kernel); kernel < sums.size())
        sums[kernel] += double(events[i].end - events[i].begin);
  }
  for (int32_t cache = 0; cache < variant.model->tables->cacheCount; ++cache)
    attn_cache_truncate(variant.context, cache, 0, nullptr); // all runs begin with empty ones
  for (size_t i = 0; i < times.size(); ++i)
    times[i] = std::min(times[i], sums[i]);
  return Ok;
}

} // namespace attn::tool
