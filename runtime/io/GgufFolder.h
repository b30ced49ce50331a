// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GGUF files in a folder: models that are split into several files, whose names end in
// -00001-of-00003.gguf.
#pragma once

#include "base/Error.h"
#include "io/Gguf.h"

namespace attn {

/// W0205: a file is one of several parts, and cannot be read alone.
attn_status failPart(const char *path, const GgufParts &parts, Error &error);

/// The path of a part, by that of the first. Errors where `first` is not the first, where its name
/// does not say what the others are called, or where the part is missing.
attn_status findPart(const char *first, const GgufParts &parts, const GgufParts &part, Text &path,
                     Error &error);

/// The only model in a folder: a GGUF file, or the first of its parts. Encoders of pictures
/// (mmproj) are no model by themselves. False where there is none, or more than one.
bool findGgufIn(const char *folder, Text &path);

} // namespace attn
