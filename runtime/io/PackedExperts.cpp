// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One tensor of all experts to one of each, which begins where the expert's elements do.
#include "io/PackedExperts.h"
#include "base/Dtype.h"
#include "io/BlockFormat.h"

using namespace attn;

namespace {
/// What a name says: `before` is what stands before the expert's number, `own` what is behind it.
struct ExpertNames {
  size_t before = 0, ownFrom = 0, ownLength = 0;
  bool isBias = false, isGguf = false, isLinear = false;
};
} // namespace

static constexpr char expertsInfix[] = "experts.", ggufInfix[] = "_exps.", biasSuffix[] = "_bias";

/// Where Granite's linears of all experts are, and what they end with.
static constexpr char linearModule[] = "block_sparse_moe.", linearSuffix[] = "_linear.weight";

static bool endsWith(const char *text, size_t length, const char *suffix) {
  size_t own = strlen(suffix);
  return length >= own && memcmp(text + length - own, suffix, own) == 0;
}

/// `blk.0.ffn_gate_exps.weight`
static bool readGgufName(const StoredTensor &tensor, ExpertNames &names) {
  const char *found = strstr(tensor.name, ggufInfix);
  if (!found)
    return false;
  const char *rest = found + strlen(ggufInfix), *begin = found;
  names.isGguf = true;
  names.isBias = strcmp(rest, "bias") == 0;
  while (begin > tensor.name && begin[-1] != '_' && begin[-1] != '.')
    --begin;
  names.before = names.ownFrom = size_t(begin - tensor.name);
  names.ownLength = size_t(found - begin);
  bool hasPlace = begin > tensor.name && begin[-1] == '_';
  return hasPlace && names.ownLength > 0 && (names.isBias || strcmp(rest, "weight") == 0);
}

/// `block_sparse_moe.input_linear.weight`
static bool readLinearName(const StoredTensor &tensor, ExpertNames &names) {
  if (tensor.rank != 3 || !endsWith(tensor.name, tensor.nameLength, linearSuffix))
    return false;
  size_t end = tensor.nameLength - strlen(".weight"), begin = end;
  while (begin > 0 && tensor.name[begin - 1] != '.')
    --begin;
  names.isLinear = true;
  names.before = names.ownFrom = begin;
  names.ownLength = end - begin;
  return endsWith(tensor.name, begin, linearModule);
}

/// `mlp.experts.gate_up_proj`, `mlp.experts.gate_up_proj_bias`
static bool readName(const StoredTensor &tensor, ExpertNames &names) {
  if (readLinearName(tensor, names))
    return true;
  const char *dot = strrchr(tensor.name, '.');
  if (!dot)
    return readGgufName(tensor, names);
  names.before = names.ownFrom = size_t(dot - tensor.name) + 1;
  names.ownLength = tensor.nameLength - names.ownFrom;
  if (!endsWith(tensor.name, names.before, expertsInfix) ||
      (names.before > strlen(expertsInfix) &&
       tensor.name[names.before - strlen(expertsInfix) - 1] != '.'))
    return readGgufName(tensor, names);
  const char *own = tensor.name + names.ownFrom;
  names.isBias = endsWith(own, names.ownLength, biasSuffix);
  if (names.isBias)
    names.ownLength -= strlen(biasSuffix);
  return names.ownLength > 0 && (*own < '0' || *own > '9');
}

bool attn::arePackedExperts(const StoredTensor &tensor) {
  ExpertNames names;
  if (!readName(tensor, names) || tensor.rank != (names.isBias ? 2 : 3))
    return false;
  constexpr int64_t mostExperts = 1 << 16; // each gets an entry, whatever a damaged file says
  int64_t experts = tensor.shape[0], elements = 0;
  if (experts < 1 || experts > mostExperts || !countElements(tensor.shape, tensor.rank, elements) ||
      elements < 1)
    return false;
  if (tensor.quantized) // of others, scales may be of several experts
    return tensor.quantized->format == QuantizedTensor::Float4;
  return !tensor.blocks || elements / experts % tensor.blocks->elements == 0;
}

void attn::expertName(const StoredTensor &tensor, int64_t expert, Text &name) {
  ExpertNames names;
  readName(tensor, names);
  name.clear();
  const char *infix = names.isGguf ? "exps." : names.isLinear ? expertsInfix : "";
  name.append("%.*s%s%lld.%.*s.%s", int(names.before), tensor.name, infix,
              static_cast<long long>(expert), int(names.ownLength), tensor.name + names.ownFrom,
              names.isBias ? "bias" : "weight");
}

/// Part `expert` of `experts` along the first axis.
static void cut(StoredTensor &tensor, int64_t expert, int64_t experts) {
  tensor.bytes /= size_t(experts);
  uint64_t first = uint64_t(expert) * tensor.bytes;
  tensor.offset += first;
  if (tensor.data)
    tensor.data += first;
  --tensor.rank;
  memmove(tensor.shape, tensor.shape + 1, size_t(tensor.rank) * sizeof *tensor.shape);
}

bool attn::takeExpert(const StoredTensor &tensor, int64_t expert, StoredTensor &part,
                      Vector<QuantizedTensor *> &quantized) {
  int64_t experts = tensor.shape[0];
  part = tensor;
  cut(part, expert, experts);
  if (!tensor.quantized)
    return true;
  QuantizedTensor *own = create<QuantizedTensor>();
  if (!own || !quantized.push(own)) {
    dispose(own);
    return false;
  }
  *own = *tensor.quantized;
  cut(own->codes, expert, experts);
  cut(own->scales, expert, experts);
  part.quantized = own;
  own->whole = part;
  return true;
}
