// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of requests put into one tensor, and taken out of it.
#include "serve/Batch.h"

#include <cmath>

namespace attn {

/// How often a run uses each weight, about, from where on more rows make it no faster: BERT's
/// linears on AVX-512 and on AVX2 do so from 60 to 120 rows on.
static constexpr double enoughUses = 128;

int32_t BatchAxes::axisOf(const attn_abi_tensor &tensor) const {
  for (int32_t axis = 0; axis < tensor.rank && batch >= 0; ++axis)
    if (tensor.axes[axis].dim == batch)
      return axis;
  return -1;
}

/// The product of a kernel's term, with the sizes of dims.
static double product(const attn_abi_term &term, const Vector<int64_t> &dims) {
  double result = double(term.factor);
  for (int32_t dim : term.dims)
    if (dim >= 0)
      result *= double(dims[size_t(dim)]);
  return result;
}

int64_t BatchAxes::mostRows(const attn_tensor *inputs) const {
  Vector<int64_t> dims;
  for (int32_t i = 0; i < tables.dimCount; ++i)
    if (!dims.push(tables.dims[i].isDynamic ? 1 : tables.dims[i].value))
      return 1;
  for (int32_t i = 0; i < entry.inputCount; ++i)
    for (int32_t axis = 0; axis < entry.inputs[i].rank; ++axis) {
      const attn_abi_axis &known = entry.inputs[i].axes[axis];
      if (known.dim >= 0 && known.dim != batch && tables.dims[known.dim].isDynamic)
        dims[size_t(known.dim)] = (inputs[i].shape[axis] - known.offset) / known.scale;
    }
  // Of all entries of a model, whose kernels the tables do not tell apart.
  double uses = 0, weights = 1;
  for (int32_t i = 0; i < tables.kernelCount; ++i)
    for (int32_t t = 0; t < tables.kernels[i].flopTerms; ++t)
      uses += product(tables.kernels[i].flop[t], dims) / 2;
  int32_t entries = 0;
  for (int32_t i = 0; i < tables.entryCount; ++i)
    entries += tables.entries[i].unfold ? 0 : 1;
  for (int32_t i = 0; i < tables.parameterCount; ++i) {
    const attn_abi_parameter &parameter = tables.parameters[i];
    double elements = parameter.layers ? parameter.layers : 1;
    for (int32_t axis = 0; axis < parameter.rank; ++axis)
      elements *= double(parameter.shape[axis]);
    weights += elements;
  }
  uses /= weights * entries;
  double rows = uses > 1 ? enoughUses / uses : enoughUses;
  int64_t bound = tables.dims[batch].value;
  return rows < 1 ? 1 : rows > double(bound) ? bound : int64_t(lround(rows));
}

int64_t BatchAxes::mostTexts(int64_t tokens) const {
  Vector<attn_tensor> inputs;
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    attn_tensor input = {};
    input.shape[0] = 1;
    input.shape[1] = tokens;
    if (batch < 0 || !inputs.push(input))
      return 1;
  }
  return mostRows(inputs.data());
}

/// The elements in front of an axis, and bytes of one place of it.
static void measure(const attn_tensor &tensor, int32_t axis, int64_t &before, size_t &bytes) {
  before = 1;
  bytes = attn_dtype_size(tensor.dtype);
  for (int32_t i = 0; i < axis; ++i)
    before *= tensor.shape[i];
  for (int32_t i = axis + 1; i < tensor.rank; ++i)
    bytes *= size_t(tensor.shape[i]);
}

bool joinTensors(const Vector<attn_tensor *> &pieces, int32_t axis, Tensors &owner,
                 attn_tensor &whole) {
  whole = *pieces[0];
  whole.shape[axis] = 0;
  for (const attn_tensor *piece : pieces)
    whole.shape[axis] += piece->shape[axis];
  if (!owner.allocate(whole))
    return false;
  int64_t before;
  size_t bytes, offset = 0;
  measure(whole, axis, before, bytes);
  for (const attn_tensor *piece : pieces) {
    size_t size = size_t(piece->shape[axis]) * bytes;
    for (int64_t i = 0; i < before; ++i)
      memcpy(static_cast<char *>(whole.data) + size_t(i * whole.shape[axis]) * bytes + offset,
             static_cast<const char *>(piece->data) + size_t(i) * size, size);
    offset += size;
  }
  return true;
}

bool cutTensor(const attn_tensor &whole, int32_t axis, int64_t first, int64_t count, Tensors &owner,
               attn_tensor &piece) {
  piece = whole;
  piece.shape[axis] = count;
  if (!owner.allocate(piece))
    return false;
  int64_t before;
  size_t bytes;
  measure(whole, axis, before, bytes);
  size_t size = size_t(count) * bytes;
  for (int64_t i = 0; i < before; ++i)
    memcpy(static_cast<char *>(piece.data) + size_t(i) * size,
           static_cast<const char *>(whole.data) + size_t(i * whole.shape[axis] + first) * bytes,
           size);
  return true;
}

} // namespace attn
