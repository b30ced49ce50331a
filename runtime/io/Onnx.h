// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The weights of ONNX files: initializers of floats, whose bytes lie in the file or in others
// beside it, and nodes `Constant` of more than one float. Initializers of other kinds, and those
// without axes, are parts of the graph: shapes, indices and numbers of formulas.
#pragma once

#include "base/Arena.h"
#include "base/Error.h"

namespace attn {

class SourceFile;
struct StoredTensor;

/// Whether the file of this name is taken for one: it ends with `.onnx`, since the format has no
/// bytes of its own at the beginning.
bool isOnnxName(const char *path);

/// Which initializers are read.
enum class OnnxTensors { Weights, All };

/// Appends the initializers of such a file; names go into `arena`, files of external data into
/// `files`. ATTN_BAD_WEIGHTS, W0207, where the file is malformed, W0208 where external data cannot
/// be those of the tensor, W0205 where numbers are kept in a way that is not read.
attn_status readOnnxTensors(const SourceFile &file, const char *path, OnnxTensors which,
                            Arena &arena, Vector<SourceFile *> &files,
                            Vector<StoredTensor> &tensors, Error &error);

} // namespace attn
