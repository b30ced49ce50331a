// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors of a checkpoint, wherever they come from: one .safetensors file, shards with an
// index, a directory of either, a GGUF file, one of llama2.c, an ONNX file, or memory. Quantized
// tensors that are kept as several appear as the one that they make, and experts that are kept as
// one as several.
#pragma once

#include "base/Arena.h"
#include "base/Names.h"
#include "io/File.h"

namespace attn {

struct BlockFormat;
struct GgufParts;
struct QuantizedTensor;

/// A tensor of a checkpoint: bytes that need not be aligned.
struct StoredTensor {
  const char *name; // with a NUL at its end
  size_t nameLength;
  int32_t dtype; // ATTN_*, or -1 for one that the format has and models have not
  char dtypeName[16];
  int32_t rank;
  int64_t shape[ATTN_MAX_RANK];
  const char *data; // null where it is in a file
  size_t bytes;
  const BlockFormat *blocks; // how f32 is kept in blocks of codes; null where elements are there
  const SourceFile *file;    // null where it is in memory
  uint64_t offset;           // of its bytes in the file, or in the memory of one
  const QuantizedTensor *quantized; // the tensors that it is made of; null where it is one itself

  /// Whether `data` are its elements.
  bool isInMemory() const { return !file && !blocks && !quantized; }
};

/// Owns the files and names of its tensors.
class Checkpoint {
public:
  Checkpoint() = default;
  Checkpoint(const Checkpoint &) = delete;
  Checkpoint &operator=(const Checkpoint &) = delete;
  ~Checkpoint();

  /// A file, an index of shards or a directory.
  attn_status open(const char *path, Error &error);
  /// The bytes of a .safetensors or GGUF file; `label` names it in messages.
  attn_status openMemory(const char *data, size_t size, const char *label, Error &error);
  attn_status addTensors(const attn_named_tensor *tensors, size_t count, Error &error);

  /// All tensors, in the order in which they were found.
  const Vector<StoredTensor> &tensors() const { return list; }
  /// The files of a checkpoint on disk.
  const Vector<SourceFile *> &sourceFiles() const { return files; }
  /// Null where there is none of that name, nor a part of one that a model may take as it is.
  const StoredTensor *find(const char *name) const;
  /// The place in the list of a tensor that was found, or of the one that it is a part of.
  size_t placeOf(const StoredTensor &tensor) const;
  /// The bytes of a tensor's elements, of its dtype: its own, or read from its file and decoded
  /// into `memory`; null after an error.
  static const char *bytesOf(const StoredTensor &tensor, Vector<char> &memory, Error &error);

private:
  /// Adds the tensors of a file, called `folder.name` where it is of a module's folder, and those
  /// of the other parts of its model. With `among` it has to be that part, and is read alone.
  attn_status openFile(const char *path, Error &error, const char *folder = "",
                       const GgufParts *among = nullptr);
  /// Adds the tensors of the parts behind the first one.
  attn_status openParts(const char *first, const GgufParts &parts, Error &error);
  /// Adds the tensors of the modules of a sentence encoder, which have folders of their own.
  attn_status openModules(const char *path, Error &error);
  /// Gives a tensor the name that it has here: behind its module's folder, and as checkpoints call
  /// it today.
  attn_status rename(StoredTensor &tensor, const char *folder, Error &error);
  /// Finds the tensors of a file in the format that its name or its first bytes say.
  attn_status readTensors(const SourceFile &file, const char *path, Vector<StoredTensor> &found,
                          GgufParts &parts, Error &error);
  /// Adds the tensors of the shards that an index names.
  attn_status openIndex(const char *path, Error &error);
  /// Adds the tensors of a folder: of its index, or of its only .safetensors file.
  attn_status openDirectory(const char *path, Error &error);
  /// What is done with the tensors of all files: `assemble`, then `separateExperts`.
  attn_status finish(const char *folder, Error &error);
  /// Puts a tensor of each expert in the place of one of all of them.
  attn_status separateExperts(Error &error);
  /// Puts quantized tensors together, by what the config.json in `folder` says; null: by nothing.
  attn_status assemble(const char *folder, Error &error);
  /// Adds the tensors at a path.
  attn_status openPath(const char *path, Error &error);
  /// Adds a tensor; an error where its name is there already.
  attn_status add(StoredTensor tensor, const char *label, Error &error);

  Vector<StoredTensor> list;
  NameTable names;
  Arena arena;
  Vector<SourceFile *> files;
  Vector<QuantizedTensor *> quantized;
};

} // namespace attn
