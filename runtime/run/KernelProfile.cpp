// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn_profile_*: the times of kernels, and the work of each in the run that was recorded.
#include "run/Context.h"

using namespace attn;

extern "C" attn_status attn_profile_enable(attn_context *context, int32_t isEnabled,
                                           char **message) {
  Error error;
  if (!context)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_profile_enable: null pointer");
  else if (!isEnabled)
    context->profile.disable();
  else if (!context->profile.enable())
    error.outOfMemory("a profile");
  return error.report(message);
}

extern "C" int64_t attn_profile_events(const attn_context *context, int32_t thread,
                                       const attn_kernel_event **events) {
  const Vector<attn_kernel_event> *found = context ? context->profile.events(thread) : nullptr;
  if (found && events)
    *events = found->data();
  return found ? int64_t(found->size()) : 0;
}

static double evaluate(const attn_abi_term *terms, int32_t count, const Vector<int64_t> &dims) {
  double sum = 0;
  for (int32_t t = 0; t < count; ++t) {
    double product = double(terms[t].factor);
    for (int32_t dim : terms[t].dims)
      if (dim >= 0)
        product *= double(dims[size_t(dim)]);
    sum += product;
  }
  return sum;
}

extern "C" attn_status attn_profile_kernel(const attn_context *context, int32_t kernel,
                                           attn_kernel_info *info) {
  if (!context || !info)
    return ATTN_INVALID_ARGUMENT;
  const attn_abi_model &tables = *context->model->tables;
  const Vector<int64_t> &dims = context->profile.dims();
  if (kernel < 0 || kernel >= tables.kernelCount || dims.empty() != (tables.dimCount == 0))
    return ATTN_NOT_FOUND;
  const attn_abi_kernel &own = tables.kernels[kernel];
  *info = {own.function, own.title, own.location, evaluate(own.flop, own.flopTerms, dims),
           evaluate(own.bytes, own.byteTerms, dims)};
  return ATTN_OK;
}
