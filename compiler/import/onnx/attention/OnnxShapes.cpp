// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types and shapes of the operator's inputs, against each other.
#include "compiler/import/onnx/attention/OnnxReader.h"

using namespace llvm;

namespace attn::importer {

static bool isFloat(OnnxType type) {
  return type == OnnxType::F32 || type == OnnxType::F16 || type == OnnxType::BF16;
}

static std::string typeName(OnnxType type) {
  switch (type) {
  case OnnxType::None:
    return "of no type";
  case OnnxType::F32:
    return "float32";
  case OnnxType::I32:
    return "int32";
  case OnnxType::I64:
    return "int64";
  case OnnxType::Bool:
    return "bool";
  case OnnxType::F16:
    return "float16";
  case OnnxType::F64:
    return "float64";
  case OnnxType::BF16:
    return "bfloat16";
  }
  return "of the element type " + std::to_string(static_cast<int32_t>(type));
}

Error OnnxReader::expectType(AttentionInput input, OnnxType type, AttentionInput other) {
  const auto &operand = attention.inputs[input];
  if (!operand || operand->type == type)
    return Error::success();
  return importError(nameOf(input) + " is " + typeName(operand->type) + ", but " + nameOf(other) +
                     " is " + typeName(type));
}

Error OnnxReader::checkTypes() {
  for (AttentionInput input : {Q, K, V, Mask}) {
    if (!attention.has(input))
      continue;
    OnnxType type = attention.inputs[input]->type;
    if (!isFloat(type) && !(input == Mask && type == OnnxType::Bool))
      return importError(nameOf(input) + " is " + typeName(type),
                         "expected float32, float16 or bfloat16" +
                             Twine(input == Mask ? ", or bool" : ""));
  }
  if (attention.has(Lengths) && attention.inputs[Lengths]->type != OnnxType::I64)
    return importError(nameOf(Lengths) + " is " + typeName(attention.inputs[Lengths]->type),
                       "expected int64");
  if (Error error = expectType(K, attention.inputs[Q]->type, Q))
    return error;
  if (Error error = expectType(PastKey, attention.inputs[K]->type, K))
    return error;
  return expectType(PastValue, attention.inputs[V]->type, V);
}

Error OnnxReader::expectRank(AttentionInput input, size_t rank) {
  const auto &operand = attention.inputs[input];
  if (!operand || operand->shape.size() == rank)
    return Error::success();
  return importError(nameOf(input) + " has " + Twine(operand->shape.size()) +
                     " axes, but is expected to have " + Twine(rank));
}

Error OnnxReader::expectSize(AttentionInput input, unsigned axis, int64_t size, const Twine &why) {
  int64_t found = attention.inputs[input]->shape[axis];
  if (found == size)
    return Error::success();
  return importError("axis " + Twine(axis) + " of " + nameOf(input) + " has the size " +
                     Twine(found) + ", but is expected to have " + Twine(size) + ": " + why);
}

/// `width` features in `heads` heads, of which each has as many.
static Expected<int64_t> perHead(int64_t width, std::optional<int64_t> heads, StringRef attribute,
                                 StringRef name) {
  if (!heads)
    return importError("inputs of three axes need the attribute `" + attribute + "`");
  if (width % *heads)
    return importError("the last axis of " + name + " has the size " + Twine(width) +
                       ", which is no multiple of `" + attribute + "`, " + Twine(*heads));
  return width / *heads;
}

/// Heads and features of queries, keys and values, and which heads share keys.
Error OnnxReader::checkHeads() {
  ArrayRef<int64_t> q = attention.inputs[Q]->shape, k = attention.inputs[K]->shape,
                    v = attention.inputs[V]->shape;
  int64_t keyFeatures = k.back();
  if (attention.isFlat) {
    auto features = perHead(q.back(), queryHeads, "q_num_heads", nameOf(Q));
    if (!features)
      return features.takeError();
    auto ofKeys = perHead(k.back(), keyHeads, "kv_num_heads", nameOf(K));
    if (!ofKeys)
      return ofKeys.takeError();
    auto ofValues = perHead(v.back(), keyHeads, "kv_num_heads", nameOf(V));
    if (!ofValues)
      return ofValues.takeError();
    attention.heads = *queryHeads;
    attention.groups = *keyHeads;
    attention.features = *features;
    keyFeatures = *ofKeys;
    attention.valueFeatures = *ofValues;
  } else {
    attention.heads = q[1];
    attention.groups = k[1];
    attention.features = q[3];
    attention.valueFeatures = v[3];
    if (queryHeads.value_or(attention.heads) != attention.heads ||
        keyHeads.value_or(attention.groups) != attention.groups)
      return importError("`q_num_heads` or `kv_num_heads` contradicts the axis 1 of " + nameOf(Q) +
                         " or " + nameOf(K));
    if (Error error = expectSize(V, 1, attention.groups, "as many heads as " + nameOf(K)))
      return error;
  }
  if (keyFeatures != attention.features)
    return importError("a key has " + Twine(keyFeatures) + " features, but a query has " +
                       Twine(attention.features));
  if (attention.heads % attention.groups)
    return importError(Twine(attention.heads) + " heads of the query cannot share " +
                           Twine(attention.groups) + " heads of keys and values",
                       "the first is a multiple of the second");
  return Error::success();
}

/// Earlier keys and values, and how many keys of each sequence hold.
Error OnnxReader::checkCache() {
  if (attention.has(PastKey) != attention.has(PastValue))
    return importError("`past_key` and `past_value` are given together, or neither");
  if (attention.has(PastKey) && attention.has(Lengths))
    return importError("`nonpad_kv_seqlen` is not given together with `past_key`");
  if (attention.has(PastKey))
    attention.past = attention.inputs[PastKey]->shape[2];
  for (auto [input, features] :
       {std::pair(PastKey, attention.features), {PastValue, attention.valueFeatures}}) {
    if (!attention.has(input))
      continue;
    int64_t expected[] = {attention.batch, attention.groups, attention.past, features};
    static constexpr StringRef why[] = {"the batch", "the heads of keys and values",
                                        "as many values as keys", "the features"};
    for (unsigned axis = 0; axis < 4; ++axis)
      if (Error error = expectSize(input, axis, expected[axis], why[axis]))
        return error;
  }
  if (attention.allKeys() > INT32_MAX)
    return importError("past and new keys are more than 2147483647");
  if (attention.has(Lengths))
    return expectSize(Lengths, 0, attention.batch, "one for each of the batch");
  return Error::success();
}

Error OnnxReader::checkShapes() {
  size_t rank = attention.inputs[Q]->shape.size();
  if (rank != 3 && rank != 4)
    return importError(nameOf(Q) + " has " + Twine(rank) + " axes, but is expected to have 3 or 4");
  attention.isFlat = rank == 3;
  for (auto [input, expected] : {std::pair(K, rank),
                                 {V, rank},
                                 {PastKey, size_t(4)},
                                 {PastValue, size_t(4)},
                                 {Lengths, size_t(1)}})
    if (Error error = expectRank(input, expected))
      return error;
  ArrayRef<int64_t> q = attention.inputs[Q]->shape, k = attention.inputs[K]->shape;
  unsigned position = attention.isFlat ? 1 : 2;
  attention.batch = q[0];
  attention.queries = q[position];
  attention.keys = k[position];
  if (Error error = checkHeads())
    return error;
  for (AttentionInput input : {K, V})
    if (Error error = expectSize(input, 0, attention.batch, "the batch of " + nameOf(Q)))
      return error;
  if (Error error = expectSize(V, position, attention.keys, "as many values as keys"))
    return error;
  return checkCache();
}

Error OnnxReader::checkMask() {
  if (!attention.has(Mask))
    return Error::success();
  ArrayRef<int64_t> shape = attention.inputs[Mask]->shape;
  if (shape.empty() || shape.size() > 4)
    return importError(nameOf(Mask) + " has " + Twine(shape.size()) +
                       " axes, but is expected to have 1 to 4");
  int64_t full[] = {attention.batch, attention.heads, attention.queries, attention.allKeys()};
  static constexpr StringRef what[] = {"the batch", "the heads", "the queries", "the keys"};
  for (unsigned i = 0; i < shape.size(); ++i) {
    unsigned axis = 4 - shape.size() + i;
    bool isShort = axis == 3 && attention.opset >= 24 && shape[i] < full[axis];
    if (shape[i] != 1 && shape[i] != full[axis] && !isShort)
      return expectSize(Mask, i, full[axis], what[axis]);
  }
  return Error::success();
}

} // namespace attn::importer
