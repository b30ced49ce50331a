// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machine code of kernels, with the place in the spec of each instruction.
#pragma once

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace attn::tool {

/// Each function of assembly as LLVM writes it to a list: of labels `label`, of instructions
/// `text`, the place `at`, `file:line:column`, that they come from, and in attentions the term,
/// `part`, that they are of.
llvm::StringMap<llvm::json::Array> readCode(llvm::StringRef assembly);

/// Prints a kernel of an explanation that has `code`: what became of it, how many instructions each
/// line of the spec has, and these, under their lines. `only`: "27" or "vit.attn:27", the line
/// whose instructions alone are printed; empty: of all. False where no instruction is of it.
bool printCode(const llvm::json::Object &explanation, const llvm::json::Object &kernel,
               llvm::StringRef only, llvm::raw_ostream &stream);

} // namespace attn::tool
