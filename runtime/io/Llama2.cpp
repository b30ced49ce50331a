// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the tensors of a checkpoint of llama2.c lie.
#include "io/Llama2.h"
#include "base/Text.h"
#include "io/Checkpoint.h"

using namespace attn;

namespace {

/// A tensor of the file, of each layer where the name has a %d; columns are 0 where it is a vector.
struct Part {
  const char *name;
  int64_t rows, columns;
  bool isOfLayers, isUsed;
};

/// All tensors, in their order.
struct Parts {
  explicit Parts(const Llama2Header &header);
  /// The bytes of the file.
  uint64_t bytes() const;

  Part list[14];
  int count = 0;
  int32_t layers;

private:
  void add(const char *name, int64_t rows, int64_t columns, bool isUsed = true) {
    list[count++] = {name, rows, columns, strchr(name, '%') != nullptr, isUsed};
  }
};

} // namespace

static constexpr uint64_t llama2HeaderBytes = 28;

Parts::Parts(const Llama2Header &header) : layers(header.layers) {
  int64_t d = header.width, f = header.hidden, e = d / header.heads, keys = e * header.keyHeads,
          tokens = header.isTied() ? header.tokens : -int64_t(header.tokens);
  add("tok_embeddings.weight", tokens, d);
  add("layers.%d.attention_norm.weight", d, 0);
  add("layers.%d.attention.wq.weight", d, d);
  add("layers.%d.attention.wk.weight", keys, d);
  add("layers.%d.attention.wv.weight", keys, d);
  add("layers.%d.attention.wo.weight", d, d);
  add("layers.%d.ffn_norm.weight", d, 0);
  add("layers.%d.feed_forward.w1.weight", f, d);
  add("layers.%d.feed_forward.w2.weight", d, f);
  add("layers.%d.feed_forward.w3.weight", f, d);
  add("norm.weight", d, 0);
  add("cosines and sines", 2 * header.length, e / 2, false); // of rotary, computed here
  if (!header.isTied())
    add("output.weight", tokens, d);
}

static uint64_t elementsOf(const Part &part) {
  return uint64_t(part.rows) * uint64_t(part.columns ? part.columns : 1);
}

uint64_t Parts::bytes() const {
  uint64_t sum = llama2HeaderBytes;
  for (int i = 0; i < count; ++i)
    sum += 4 * elementsOf(list[i]) * uint64_t(list[i].isOfLayers ? layers : 1);
  return sum;
}

bool attn::isLlama2(const char *start, uint64_t size, Llama2Header &header) {
  static_assert(sizeof header == llama2HeaderBytes, "seven numbers");
  constexpr int32_t most = 1 << 20; // products of two and a thousand layers fit into 64 bits
  if (size < llama2HeaderBytes)
    return false;
  memcpy(&header, start, llama2HeaderBytes);
  auto isSize = [&](int32_t number) { return number > 0 && number <= most; };
  return isSize(header.width) && isSize(header.hidden) && header.layers > 0 &&
         header.layers <= 1000 && isSize(header.heads) && isSize(header.keyHeads) &&
         header.width % header.heads == 0 && header.heads % header.keyHeads == 0 &&
         header.tokens != INT32_MIN && isSize(header.tokens < 0 ? -header.tokens : header.tokens) &&
         isSize(header.length) && Parts(header).bytes() == size;
}

attn_status attn::readLlama2Tensors(const Llama2Header &header, const char *label, Arena &arena,
                                    Vector<StoredTensor> &tensors, Error &error) {
  Parts parts(header);
  uint64_t offset = llama2HeaderBytes;
  Text name;
  for (int i = 0; i < parts.count; ++i)
    for (int32_t layer = 0; layer < (parts.list[i].isOfLayers ? parts.layers : 1); ++layer) {
      const Part &part = parts.list[i];
      StoredTensor tensor = {};
      tensor.dtype = ATTN_F32;
      strcpy(tensor.dtypeName, "f32");
      tensor.rank = part.columns ? 2 : 1;
      tensor.shape[0] = part.rows;
      tensor.shape[1] = part.columns;
      tensor.bytes = size_t(4 * elementsOf(part));
      tensor.offset = offset;
      offset += tensor.bytes;
      const char *mark = strchr(part.name, '%');
      name.clear();
      if (mark)
        name.append("%.*s%d%s", int(mark - part.name), part.name, int(layer), mark + 2);
      else
        name.append("%s", part.name);
      tensor.nameLength = name.size();
      tensor.name = name.failed() ? nullptr : arena.copy(name.c_str(), name.size());
      if (part.isUsed && (!tensor.name || !tensors.push(tensor)))
        return error.outOfMemory(label);
    }
  return ATTN_OK;
}
