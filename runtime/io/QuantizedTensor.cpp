// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From codes, scales, zeros and groups, which are found by their names, to tensors of a model.
// The layouts are those of the published packages AutoGPTQ and AutoAWQ, of transformers' fp8
// linears, and of the experts of GPT-OSS. Weight norm (Salimans and Kingma 2016) is as PyTorch
// names its tensors, in both of its forms.
#include "io/QuantizedTensor.h"
#include "base/Dtype.h"
#include "base/Tensor.h"
#include <algorithm>

using namespace attn;

static constexpr char intCodes[] = ".qweight", float4Codes[] = "_blocks";

/// What the directions and the lengths of weight norm are called, and what becomes of them.
static constexpr struct {
  const char *directions, *lengths, *whole;
} normedNames[] = {
    {".weight_v", ".weight_g", ".weight"},
    {".parametrizations.weight.original1", ".parametrizations.weight.original0", ".weight"},
};

static bool endsWith(const StoredTensor &tensor, const char *suffix) {
  size_t length = strlen(suffix);
  return tensor.nameLength > length &&
         memcmp(tensor.name + tensor.nameLength - length, suffix, length) == 0;
}

static bool isDtype(const StoredTensor &tensor, const char *name) {
  return strcmp(tensor.dtypeName, name) == 0;
}

static bool isFloat8(const StoredTensor &tensor) {
  return isDtype(tensor, "F8_E4M3") || isDtype(tensor, "F8_E5M2");
}

/// Whether a tensor is called as directions of weight norm are.
static bool isDirection(const StoredTensor &tensor) {
  for (const auto &names : normedNames)
    if (isFloat(tensor.dtype) && endsWith(tensor, names.directions))
      return true;
  return false;
}

bool attn::isQuantized(const StoredTensor &tensor) {
  return isFloat8(tensor) || isDirection(tensor) ||
         (endsWith(tensor, intCodes) && tensor.dtype == ATTN_I32) ||
         (endsWith(tensor, float4Codes) && tensor.dtype == ATTN_U8 && tensor.rank > 1 &&
          tensor.shape[tensor.rank - 1] == 16);
}

namespace {
/// Makes one tensor of those of a checkpoint.
class Assembly {
public:
  Assembly(const Checkpoint &checkpoint, QuantizedTensors &found, Error &error)
      : checkpoint(checkpoint), found(found), error(error) {}
  attn_status make(const StoredTensor &codes);
  /// The same of directions of weight norm; nothing where no lengths fit them.
  attn_status makeNormed(const StoredTensor &directions);

private:
  /// A new one of such codes.
  attn_status begin(const StoredTensor &codes);
  /// The tensor that is called as the codes, with `suffix` in place of the last `cut` bytes.
  const StoredTensor *beside(size_t cut, const char *suffix);
  /// Takes a tensor as a part; it is in the list no more.
  void take(const StoredTensor *tensor, StoredTensor &part);
  attn_status makeFloat8();
  attn_status makeInt();
  attn_status makeFloat4();
  attn_status name(size_t cut, const char *suffix);
  /// Two tensors that do not fit.
  attn_status refuse(const StoredTensor *other, const char *expected);
  attn_status holdsNothing();
  attn_status lacks(const char *what);

  const Checkpoint &checkpoint;
  QuantizedTensors &found;
  Error &error;
  QuantizedTensor *made = nullptr;
};
} // namespace

static bool isMatrix(const StoredTensor *tensor, int32_t dtype) {
  return tensor && tensor->rank == 2 && tensor->dtype == dtype;
}

const StoredTensor *Assembly::beside(size_t cut, const char *suffix) {
  Text text;
  text.append("%.*s%s", int(made->codes.nameLength - cut), made->codes.name, suffix);
  return checkpoint.find(text.c_str());
}

void Assembly::take(const StoredTensor *tensor, StoredTensor &part) {
  if (!tensor)
    return;
  part = *tensor;
  made->whole.bytes += tensor->bytes;
  found.isPart[size_t(tensor - checkpoint.tensors().begin())] = true;
}

attn_status Assembly::name(size_t cut, const char *suffix) {
  Text text;
  text.append("%.*s%s", int(made->codes.nameLength - cut), made->codes.name, suffix);
  made->whole.nameLength = text.size();
  made->whole.name = text.failed() ? nullptr : found.arena.copy(text.c_str(), text.size());
  return made->whole.name ? ATTN_OK : error.outOfMemory("names of tensors");
}

attn_status Assembly::refuse(const StoredTensor *other, const char *expected) {
  Text codes, text, whole;
  const StoredTensor &own = made->codes;
  codes.appendQuoted(own.name, own.nameLength);
  text.appendQuoted(other->name, other->nameLength);
  whole.appendQuoted(made->whole.name, made->whole.nameLength);
  error.set(ATTN_BAD_WEIGHTS, "W0206", "tensor `%s` cannot be the codes of `%s`: %s", codes.c_str(),
            whole.c_str(), expected);
  Text shapes;
  shapes.append("`%s` is %s", codes.c_str(), own.dtypeName);
  shapes.appendShape(own.shape, own.rank);
  if (other != &own) {
    shapes.append(", `%s` is %s", text.c_str(), other->dtypeName);
    shapes.appendShape(other->shape, other->rank);
  }
  error.note("%s", shapes.c_str());
  return error.status;
}

attn_status Assembly::holdsNothing() {
  Text codes;
  codes.appendQuoted(made->codes.name, made->codes.nameLength);
  return error.set(ATTN_BAD_WEIGHTS, "W0206", "tensor `%s` holds no codes", codes.c_str());
}

attn_status Assembly::lacks(const char *what) {
  Text codes;
  codes.appendQuoted(made->codes.name, made->codes.nameLength);
  error.set(ATTN_BAD_WEIGHTS, "W0206", "tensor `%s` is quantized, and its `%s` is missing",
            codes.c_str(), what);
  error.help("a sharded checkpoint is read by its index, or by its folder");
  return error.status;
}

/// Elements of an axis that share a scale, where there are `scales` of them; 0 where none fits.
static int64_t blockOf(int64_t elements, int64_t scales, int64_t usual) {
  if (scales == 1)
    return elements > 1 ? elements : 1;
  if (scales == elements)
    return 1;
  return (elements + usual - 1) / usual == scales ? usual : 0;
}

attn_status Assembly::makeFloat8() {
  const StoredTensor &codes = made->codes;
  made->format = QuantizedTensor::Float8;
  made->bits = 8;
  made->isE5M2 = isDtype(codes, "F8_E5M2");
  made->whole.rank = codes.rank;
  memcpy(made->whole.shape, codes.shape, sizeof codes.shape);
  if (attn_status status = name(0, ""))
    return status;
  const StoredTensor *scales = beside(0, "_scale_inv");
  scales = scales ? scales : beside(0, "_scale");
  if (!scales)
    return ATTN_OK;
  if (!isFloat(scales->dtype) && !isDtype(*scales, "F8_E8M0"))
    return refuse(scales, "expected scales that are floats");
  int64_t count = 0, stride = 1;
  bool isFit = countElements(scales->shape, scales->rank, count);
  for (int32_t a = codes.rank - 1; isFit && a >= 0; --a) {
    // One scale for all, one for each of the first axis, or as many axes as the codes have.
    bool isVector = scales->rank == 1 && codes.rank > 1;
    int64_t own = count == 1                   ? 1
                  : isVector                   ? (a == 0 ? scales->shape[0] : 1)
                  : scales->rank == codes.rank ? scales->shape[a]
                                               : 0,
            usual = a == codes.rank - 1   ? found.config.blockColumns
                    : a == codes.rank - 2 ? found.config.blockRows
                                          : 1;
    made->scaleBlocks[a] = blockOf(codes.shape[a], own, usual);
    made->scaleStrides[a] = own == 1 ? 0 : stride;
    isFit = made->scaleBlocks[a] > 0;
    stride *= own;
  }
  if (!isFit || count == 0) {
    Text text;
    text.append("expected one scale, one for each row, or one for each block of %lld x %lld",
                static_cast<long long>(found.config.blockRows),
                static_cast<long long>(found.config.blockColumns));
    return refuse(scales, text.c_str());
  }
  take(scales, made->scales);
  // What activations are divided by where they are rounded, too; they are not.
  if (endsWith(codes, "weight")) {
    StoredTensor unused;
    take(beside(strlen("weight"), "input_scale"), unused);
    take(beside(strlen("weight"), "activation_scale"), unused);
  }
  return ATTN_OK;
}

attn_status Assembly::makeInt() {
  constexpr size_t cut = sizeof intCodes - 1;
  const StoredTensor &codes = made->codes;
  if (attn_status status = name(cut, ".weight"))
    return status;
  const StoredTensor *scales = beside(cut, ".scales"), *zeros = beside(cut, ".qzeros"),
                     *groups = beside(cut, ".g_idx");
  if (!scales || !zeros)
    return lacks(scales ? "qzeros" : "scales");
  if (codes.rank != 2)
    return refuse(&codes, "expected a matrix");
  if (scales->rank != 2 || !isFloat(scales->dtype) || scales->shape[0] < 1)
    return refuse(scales, "expected scales [groups, out] that are floats");
  if (!isMatrix(zeros, ATTN_I32) || zeros->shape[0] != scales->shape[0])
    return refuse(zeros, "expected zeros i32[groups, words], one for each scale");
  int64_t out = scales->shape[1], in = codes.shape[0];
  // No size is more than the words of a file, so that these products stay small.
  if (codes.shape[1] * 8 == out) {
    made->format = QuantizedTensor::IntWords;
    made->bits = 4;
  } else if (codes.shape[1] == out && out > 0) {
    made->format = QuantizedTensor::IntRows;
    made->bits = int32_t(zeros->shape[1] * 32 / out);
    if (made->bits != 2 && made->bits != 3 && made->bits != 4 && made->bits != 8)
      return refuse(zeros, "expected zeros of 2, 3, 4 or 8 bits");
    if (codes.shape[0] * 32 % made->bits)
      return refuse(&codes, "expected whole codes in the words of a column");
    in = codes.shape[0] * 32 / made->bits;
  } else {
    return refuse(scales, "expected as many scales as codes along `out`, as GPTQ and AWQ have");
  }
  if (zeros->shape[1] * 32 != out * made->bits)
    return refuse(zeros, "expected one zero for each scale");
  if (groups && (groups->rank != 1 || groups->dtype != ATTN_I32 || groups->shape[0] != in))
    return refuse(groups, "expected the group of each row, i32[in]");
  if (!groups && in % scales->shape[0])
    return refuse(scales, "expected groups of the same size");
  take(scales, made->scales);
  take(zeros, made->zeros);
  take(groups, made->groups);
  made->whole.rank = 2;
  made->whole.shape[0] = out;
  made->whole.shape[1] = in;
  return ATTN_OK;
}

attn_status Assembly::makeFloat4() {
  const StoredTensor &codes = made->codes;
  made->format = QuantizedTensor::Float4;
  made->bits = 4;
  if (attn_status status = name(sizeof float4Codes - 1, ""))
    return status;
  const StoredTensor *scales = beside(sizeof float4Codes - 1, "_scales");
  if (!scales)
    return lacks("scales");
  int32_t rank = codes.rank - 1;
  if (scales->dtype != ATTN_U8 || scales->rank != rank ||
      memcmp(scales->shape, codes.shape, size_t(rank) * sizeof *codes.shape) != 0)
    return refuse(scales, "expected a scale, u8, for each 16 bytes of codes");
  take(scales, made->scales);
  made->whole.rank = rank;
  memcpy(made->whole.shape, codes.shape, size_t(rank) * sizeof *codes.shape);
  made->whole.shape[rank - 1] *= 32;
  return ATTN_OK;
}

attn_status Assembly::begin(const StoredTensor &codes) {
  made = create<QuantizedTensor>();
  if (!made || !found.made.push(made)) {
    dispose(made);
    return error.outOfMemory("quantized tensors");
  }
  *made = {};
  made->config = found.config;
  take(&codes, made->codes);
  return ATTN_OK;
}

/// Whether lengths have one place for each of some axes of the directions, and one for all others.
static bool areLengths(const StoredTensor *lengths, const StoredTensor &directions) {
  bool fit = lengths && isFloat(lengths->dtype) && lengths->rank == directions.rank;
  for (int32_t a = 0; fit && a < directions.rank; ++a)
    fit = lengths->shape[a] == 1 || lengths->shape[a] == directions.shape[a];
  return fit;
}

attn_status Assembly::makeNormed(const StoredTensor &directions) {
  for (const auto &names : normedNames) {
    if (!endsWith(directions, names.directions))
      continue;
    size_t cut = strlen(names.directions);
    Text text;
    text.append("%.*s%s", int(directions.nameLength - cut), directions.name, names.lengths);
    const StoredTensor *lengths = checkpoint.find(text.c_str());
    if (!areLengths(lengths, directions))
      return ATTN_OK;
    if (begin(directions) || name(cut, names.whole))
      return error.status;
    take(lengths, made->scales);
    made->format = QuantizedTensor::Normed;
    StoredTensor &whole = made->whole;
    whole.rank = directions.rank;
    int64_t stride = 1;
    for (int32_t a = directions.rank - 1; a >= 0; --a) {
      whole.shape[a] = directions.shape[a];
      made->scaleBlocks[a] = lengths->shape[a] == 1 ? std::max<int64_t>(directions.shape[a], 1) : 1;
      made->scaleStrides[a] = lengths->shape[a] == 1 ? 0 : stride;
      stride *= lengths->shape[a];
    }
    whole.dtype = ATTN_F32;
    whole.quantized = made;
    strcpy(whole.dtypeName, directions.dtypeName);
    return ATTN_OK;
  }
  return ATTN_OK;
}

attn_status Assembly::make(const StoredTensor &codes) {
  if (begin(codes))
    return error.status;
  int64_t elements = 0;
  countElements(codes.shape, codes.rank, elements);
  if (!isFloat8(codes) && elements == 0)
    return holdsNothing();
  if (attn_status status = isFloat8(codes)             ? makeFloat8()
                           : endsWith(codes, intCodes) ? makeInt()
                                                       : makeFloat4())
    return status;
  StoredTensor &whole = made->whole;
  whole.dtype = ATTN_F32;
  whole.quantized = made;
  const char *format = made->format == QuantizedTensor::IntRows    ? "GPTQ"
                       : made->format == QuantizedTensor::IntWords ? "AWQ"
                       : made->format == QuantizedTensor::Float4   ? "MXFP4"
                                                                   : codes.dtypeName;
  strcpy(whole.dtypeName, format);
  if (!countElements(whole.shape, whole.rank, elements))
    return refuse(&codes, "its size overflows");
  return ATTN_OK;
}

attn_status attn::findQuantized(const Checkpoint &checkpoint, QuantizedTensors &found,
                                Error &error) {
  if (!found.isPart.resize(checkpoint.tensors().size()))
    return error.outOfMemory("quantized tensors");
  for (const StoredTensor &tensor : checkpoint.tensors())
    if (isQuantized(tensor) && !found.isPart[size_t(&tensor - checkpoint.tensors().begin())])
      if (Assembly made(checkpoint, found, error);
          isDirection(tensor) ? made.makeNormed(tensor) : made.make(tensor))
        return error.status;
  return ATTN_OK;
}
