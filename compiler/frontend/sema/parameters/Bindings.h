// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bindings of parameters: the names and layouts of their tensors in the checkpoint.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// The pattern with numbers that are known when compiling in the place of their names in braces.
ast::Name withNumbers(Sema &sema, const ast::Name &pattern);

/// Whether a pattern of tensor names is well formed: `{n}` for the layer of a stack, the name of a
/// stack for its. `weightOrBias` says what is told of placeholders. Reports what is wrong.
bool checkPattern(Reporter &report, const ast::Name &pattern, const Owner &owner,
                  bool weightOrBias);

/// The name in the checkpoint of the parameter `path`, with the owner's placeholders; `suffix` is
/// "weight", "bias" or empty, and `names` how many parameters share the binding. A number that is
/// known when compiling stands for its name in braces. Nothing where it was reported.
std::optional<std::string> tensorName(Sema &sema, const ast::Binding &binding, const Owner &owner,
                                      llvm::StringRef path, llvm::StringRef suffix, unsigned names);

/// Whether the layouts of a binding can be read; sets `conv1d` where one says that a linear map is
/// stored transposed. Reports what is wrong.
bool checkLayouts(Reporter &report, const ast::Binding &binding, bool linear, bool &conv1d);

/// The parameter that a binding is tied to; null where it was reported.
const ParamRef *tiedTarget(Sema &sema, const ast::Binding &binding, Scope &scope, const Decl &self);

} // namespace attn::frontend
