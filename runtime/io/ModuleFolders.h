// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The folders of a sentence encoder's modules, as its modules.json names them: `2_Dense`.
#pragma once

#include "base/Error.h"

namespace attn {

/// The names of the folders in `path` that hold modules, each with a NUL at its end; none where
/// there is no modules.json. A path that leads out of the folder is left out.
attn_status readModuleFolders(const char *path, Vector<char> &folders, Error &error);

} // namespace attn
