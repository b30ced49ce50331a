// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The check of a checkpoint against the parameters, from both sides.
#include "weights/Match.h"
#include "base/Arena.h"
#include "base/Dtype.h"

using namespace attn;

/// The number behind `sign` at `at`, which then stands behind it; `none` where there is none.
static long numberBehind(char sign, const char *&at, long none) {
  if (*at != sign)
    return none;
  char *end = nullptr;
  long number = strtol(at + 1, &end, 10);
  at = end;
  return number > 0 ? number : none;
}

/// Which layer is the one at a place among those listed at `at`, `0-2,4-6,8`; what stands behind
/// the list is `at` afterwards.
static long layerAt(long place, const char *&at) {
  long layer = place, before = 0;
  do {
    char *end = nullptr;
    long first = strtol(at + 1, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
    if (place >= before && place <= before + last - first)
      layer = first + place - before;
    before += last - first + 1;
    at = end;
  } while (*at == ',');
  return layer;
}

void attn::expandName(const attn_abi_parameter &parameter, int32_t layer, Text &name) {
  const char *rest = parameter.pattern;
  name.clear();
  while (const char *place = parameter.layers ? strstr(rest, "{n") : nullptr) {
    const char *end = place + 2;
    long own = *end == '@' ? layerAt(layer, end) : layer;
    long divisor = numberBehind('/', end, 1), count = numberBehind('%', end, own + 1);
    long factor = numberBehind('*', end, 1), first = numberBehind('+', end, 0);
    bool isNumber = *end == '}';
    if (isNumber)
      name.append("%.*s%ld", int(place - rest), rest, own / divisor % count * factor + first);
    else
      name.append("%.*s", int(end - rest), rest);
    rest = end + isNumber;
  }
  name.append("%s", rest);
}

namespace {
/// A line of the report. Texts live in the arena or in the tables.
struct Difference {
  enum Kind { Missing, Unused, Reshaped, Retyped } kind;
  const char *name;
  const attn_abi_parameter *parameter; // null for unused
  const StoredTensor *tensor;          // null for missing
};

class Matcher {
public:
  Matcher(const attn_abi_model &tables, const Checkpoint &checkpoint, Binding &binding,
          Error &error)
      : tables(tables), checkpoint(checkpoint), binding(binding), error(error) {}
  attn_status run();

private:
  bool matchParameter(const attn_abi_parameter &parameter);
  bool findUnused();
  void reportLine(const Difference &difference, int width);
  attn_status report();
  const char *nearestMissing(const Difference &unused);
  void helpTransposed();
  void helpPrefix(Difference::Kind longer, Difference::Kind shorter);

  const attn_abi_model &tables;
  const Checkpoint &checkpoint;
  Binding &binding;
  Error &error;
  Arena arena;
  Vector<Difference> differences;
  Vector<bool> isUsed;
  size_t boundCount = 0;
  size_t compared = 0; ///< pairs of an unused and a missing name
};
} // namespace

/// Whether each axis of the tensor is one of those that are asked for, or behind the first several
/// of them in one: the weight of a linear map that takes heads and features is kept as [D, H, E] or
/// [D, H * E].
/// Axes of size 1 do not count: position embeddings are kept as [1, N, D] or [N, D], the weight
/// of a convolution of one place, [D, C, 1, 1], is that of a linear map, and that of one by each
/// channel is [C, 1, P, Q].
/// The weight of a convolution along three axes, [D, C, U, P, Q], is that of a map of all of them,
/// which has one axis for them where a tensor of the spec has no more.
/// The other way round, the rows of a matrix may be those of several matrices: of a linear map
/// along heads, [H * E, D], which GGUF files keep as [H, E, D].
static bool hasShape(const StoredTensor &tensor, const attn_abi_parameter &parameter) {
  int64_t rows, places = 1;
  if (tensor.rank == 3 && parameter.rank == 2 && tensor.shape[2] == parameter.shape[1] &&
      !__builtin_mul_overflow(tensor.shape[0], tensor.shape[1], &rows) &&
      rows == parameter.shape[0])
    return true;
  if (tensor.rank == 5 && parameter.rank == 2 && tensor.shape[0] == parameter.shape[0]) {
    for (int32_t axis = 1; axis < tensor.rank; ++axis)
      if (__builtin_mul_overflow(places, tensor.shape[axis], &places))
        return false;
    return places == parameter.shape[1];
  }
  int32_t next = 0;
  // The first that counts is one axis on both sides.
  bool isFirst =
      !(tensor.rank && parameter.rank && tensor.shape[0] == 1 && parameter.shape[0] == 1);
  for (int32_t axis = 0; axis < tensor.rank; ++axis) {
    if (tensor.shape[axis] == 1)
      continue;
    int64_t size = 1;
    while (size != tensor.shape[axis] && next < parameter.rank) {
      if ((isFirst && size != 1) || __builtin_mul_overflow(size, parameter.shape[next++], &size))
        return false;
    }
    if (size != tensor.shape[axis])
      return false;
    isFirst = false;
  }
  for (; next < parameter.rank; ++next)
    if (parameter.shape[next] != 1)
      return false;
  return true;
}

/// Whether a matrix is that of the parameter with its axes exchanged.
static bool isTransposed(const StoredTensor &tensor, const attn_abi_parameter &parameter) {
  return tensor.rank == 2 && parameter.rank == 2 && tensor.shape[0] == parameter.shape[1] &&
         tensor.shape[1] == parameter.shape[0];
}

bool Matcher::matchParameter(const attn_abi_parameter &parameter) {
  if (!binding.firsts.push(int64_t(binding.tensors.size())))
    return false;
  Text name;
  for (int32_t layer = 0; layer < (parameter.layers ? parameter.layers : 1); ++layer) {
    expandName(parameter, layer, name);
    const StoredTensor *tensor = checkpoint.find(name.c_str());
    if (!binding.tensors.push(tensor))
      return false;
    if (!tensor && parameter.isOptional)
      continue;
    bool isTyped = tensor && (tensor->dtype == parameter.dtype ||
                              (isFloat(tensor->dtype) && isFloat(parameter.dtype)));
    if (tensor)
      isUsed[checkpoint.placeOf(*tensor)] = true;
    if (isTyped && hasShape(*tensor, parameter)) {
      ++boundCount;
      continue;
    }
    Difference::Kind kind = !tensor    ? Difference::Missing
                            : !isTyped ? Difference::Retyped
                                       : Difference::Reshaped;
    const char *copy = arena.copy(name.c_str(), name.size());
    if (!copy || !differences.push({kind, copy, &parameter, tensor}))
      return false;
  }
  return !name.failed();
}

bool Matcher::findUnused() {
  for (const StoredTensor &tensor : checkpoint.tensors()) {
    bool isKnown = isUsed[size_t(&tensor - checkpoint.tensors().begin())];
    for (int32_t i = 0; !isKnown && i < tables.ignoreCount; ++i)
      isKnown = matchesWildcard(tables.ignores[i], tensor.name);
    if (!isKnown && !differences.push({Difference::Unused, tensor.name, nullptr, &tensor}))
      return false;
  }
  return true;
}

const char *Matcher::nearestMissing(const Difference &unused) {
  size_t length = strlen(unused.name), best = length / 4 + 2;
  const char *nearest = nullptr;
  for (const Difference &other : differences) {
    if (other.kind != Difference::Missing)
      continue;
    if (++compared > 100000) // a help, not worth minutes on a checkpoint of another model
      break;
    size_t distance = editDistance(unused.name, length, other.name, strlen(other.name), best);
    if (distance < best) {
      best = distance;
      nearest = other.name;
    }
  }
  return nearest;
}

void Matcher::reportLine(const Difference &difference, int width) {
  static const char *const kinds[] = {"missing", "unused", "reshaped", "retyped"};
  Text &text = error.text;
  Text name;
  name.appendQuoted(difference.name, strlen(difference.name));
  text.append("\n   %-8s  %-*s   ", kinds[difference.kind], width, name.c_str());
  const attn_abi_parameter *parameter = difference.parameter;
  const StoredTensor *tensor = difference.tensor;
  if (tensor) {
    text.append("%s", tensor->dtypeName);
    text.appendShape(tensor->shape, tensor->rank);
  }
  if (tensor && parameter)
    text.append(", expected ");
  if (parameter) {
    text.append("%s", attn_dtype_name(parameter->dtype));
    text.appendShape(parameter->shape, parameter->rank);
    text.append("   %s", parameter->location ? parameter->location : "");
  } else if (const char *nearest = nearestMissing(difference)) {
    text.append("   did you mean `%s`?", nearest);
  }
}

/// "1 parameter has no tensor", or nothing for 0.
static void appendCount(Text &text, const char *&separator, size_t count, const char *one,
                        const char *many) {
  if (count == 0)
    return;
  text.append("%s%zu %s", separator, count, count == 1 ? one : many);
  separator = ", ";
}

/// Says it where matrices are stored the other way round.
void Matcher::helpTransposed() {
  for (const Difference &difference : differences)
    if (difference.kind == Difference::Reshaped &&
        isTransposed(*difference.tensor, *difference.parameter)) {
      Text name;
      name.appendQuoted(difference.name, strlen(difference.name));
      error.help("`%s` is stored as [in, out]: write `@conv1d` behind its declaration in the spec",
                 name.c_str());
      return;
    }
}

/// Says it where each name of one side is one of the other side behind the same prefix. A name is
/// looked for among a thousand others at most: it is a help, not worth minutes.
void Matcher::helpPrefix(Difference::Kind longer, Difference::Kind shorter) {
  const char *prefix = nullptr, *example = nullptr;
  size_t length = 0, looked = 0;
  for (const Difference &whole : differences) {
    if (whole.kind != longer || ++looked > 1000)
      continue;
    size_t size = strlen(whole.name), candidates = 0;
    bool isFound = false;
    for (const Difference &part : differences) {
      size_t own = strlen(part.name);
      if (part.kind != shorter || ++candidates > 1000 || own + 1 >= size)
        continue;
      size_t before = size - own;
      isFound = whole.name[before - 1] == '.' && strcmp(whole.name + before, part.name) == 0 &&
                (!prefix || (before == length && strncmp(prefix, whole.name, before) == 0));
      if (isFound) {
        prefix = whole.name, length = before, example = part.name;
        break;
      }
    }
    if (!isFound)
      return;
  }
  if (!prefix)
    return;
  Text common, name;
  common.appendQuoted(prefix, length);
  name.appendQuoted(example, strlen(example));
  if (longer == Difference::Unused)
    error.help(
        "the tensors' names begin with `%s`, which the spec's do not have: write it in front "
        "of them, or where they are bound, as for `%s`",
        common.c_str(), name.c_str());
  else
    error.help("the spec's names begin with `%s`, which the tensors' do not have: leave it out, or "
               "say how the tensors are called, `= \"...\"`, as for `%s`",
               common.c_str(), name.c_str());
}

attn_status Matcher::report() {
  size_t counts[4] = {};
  int width = 0;
  for (const Difference &difference : differences) {
    ++counts[difference.kind];
    int length = int(strlen(difference.name));
    width = length > width && length <= 60 ? length : width;
  }
  Text head;
  const char *separator = "";
  appendCount(head, separator, counts[0], "parameter has no tensor", "parameters have no tensor");
  appendCount(head, separator, counts[1], "tensor has no parameter", "tensors have no parameter");
  appendCount(head, separator, counts[2], "tensor has another shape", "tensors have another shape");
  appendCount(head, separator, counts[3], "tensor has another type", "tensors have another type");
  error.set(ATTN_BAD_WEIGHTS, "W0105", "%s (%zu bound)", head.c_str(), boundCount);
  for (const Difference &difference : differences)
    reportLine(difference, width);
  helpTransposed();
  helpPrefix(Difference::Unused, Difference::Missing);
  helpPrefix(Difference::Missing, Difference::Unused);
  if (counts[1])
    error.help("tensors left out on purpose are named in the spec: `ignore \"pattern\"`");
  return error.status;
}

attn_status Matcher::run() {
  bool hasMemory = isUsed.resize(checkpoint.tensors().size());
  for (int32_t i = 0; hasMemory && i < tables.parameterCount; ++i)
    hasMemory = matchParameter(tables.parameters[i]);
  if (!hasMemory || !findUnused())
    return error.outOfMemory("matching the checkpoint");
  return differences.empty() ? ATTN_OK : report();
}

attn_status attn::matchCheckpoint(const attn_abi_model &tables, const Checkpoint &checkpoint,
                                  Binding &binding, Error &error) {
  return Matcher(tables, checkpoint, binding, error).run();
}
