// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explanations (Explanation.h) as one page for a browser, which needs nothing beside it:
// tools/explore has its sources, the build makes one file of them.
#pragma once

#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace attn::tool {

/// Where this program's page without data is: `share/attn/explore.html` beside its folder; empty
/// where it was built without one, for want of npm.
std::string pageWithoutData();

/// The page with one explanation or two. Code of their kernels is taken out of them, and stands
/// compressed beside them, a script for each kernel; `difference` (ExplanationDiff.h) is that of
/// both.
std::string fillPage(llvm::StringRef page, std::vector<llvm::json::Object> explanations,
                     std::optional<llvm::json::Object> difference);

} // namespace attn::tool
