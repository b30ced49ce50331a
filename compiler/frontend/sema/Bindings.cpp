// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a declaration says of its tensor in the checkpoint: its name, its layout, what it is tied
// to.
#include "compiler/frontend/sema/Bindings.h"
#include "compiler/frontend/sema/Names.h"

namespace attn::frontend {

using namespace ast;

bool checkPattern(Reporter &report, const Name &pattern, const Owner &owner, bool weightOrBias) {
  llvm::StringRef text = pattern.text;
  if (text.empty()) {
    report.error(DiagCode::BadPattern, pattern.range, "the name of a tensor cannot be empty");
    return false;
  }
  for (size_t at = text.find('{'); at != llvm::StringRef::npos; at = text.find('{', at + 1)) {
    llvm::StringRef word = text.substr(at + 1).split('}').first;
    if (word == "n" && owner.layers)
      continue;
    if (word == "weight|bias" && weightOrBias)
      continue;
    if (word == "n") {
      report
          .error(DiagCode::BadPattern, pattern.range,
                 "`{n}` stands for a layer, but there are none here")
          .note(owner.inStack ? "the layers of this stack are shared"
                              : "only the parameters of a block that is stacked have layers");
      return false;
    }
    Diagnostic &diagnostic =
        report.error(DiagCode::BadPattern, pattern.range,
                     "`{" + word + "}` has no meaning in the name of a tensor");
    diagnostic.note(weightOrBias ? "`{n}` is the layer's number, `{weight|bias}` stands for each"
                                 : "`{n}` is the layer's number");
    return false;
  }
  return true;
}

std::optional<std::string> tensorName(Reporter &report, const Binding &binding, const Owner &owner,
                                      llvm::StringRef path, llvm::StringRef suffix,
                                      unsigned names) {
  if (binding.kind == Binding::Kind::Path || binding.kind == Binding::Kind::Tied)
    return (owner.prefix + path + (suffix.empty() ? "" : "." + suffix)).str();
  bool isOne = binding.kind == Binding::Kind::String || binding.kind == Binding::Kind::Slice;
  if (isOne && names > 1) {
    report
        .error(DiagCode::SharedBinding, binding.range,
               llvm::Twine(names) + " parameters are bound to the one tensor `" +
                   binding.pattern.text + "`")
        .help("declare each with a binding of its own, or write `= split(\"" +
              binding.pattern.text + "\", …)` where it holds all of them");
    return std::nullopt;
  }
  if (!checkPattern(report, binding.pattern, owner, !suffix.empty()))
    return std::nullopt;
  llvm::StringRef text = binding.pattern.text;
  std::string name = (text.contains("{n}") ? owner.stackPrefix : owner.prefix);
  if (suffix.empty())
    return name + text.str();
  if (size_t at = text.find("{weight|bias}"); at != llvm::StringRef::npos)
    return name + (text.take_front(at) + suffix + text.substr(at + 13)).str();
  return name + (text + "." + suffix).str();
}

bool checkLayouts(Reporter &report, const Binding &binding, bool linear, bool &conv1d) {
  conv1d = false;
  for (const Name &layout : binding.layouts) {
    if (layout.text != "conv1d") {
      report
          .error(DiagCode::UnknownLayout, layout.range, "there is no layout `@" + layout.text + "`")
          .help("write `@conv1d` where the tensor is stored as [in, out]");
      return false;
    }
    if (!linear) {
      report.error(DiagCode::UnknownLayout, layout.range, "`@conv1d` is a layout of linear maps");
      return false;
    }
    conv1d = true;
  }
  return true;
}

const ParamRef *tiedTarget(Sema &sema, const Binding &binding, Scope &owned, const Decl &self) {
  Decl *target = owned.find(binding.tiedTo.str());
  bool isParameter =
      target && (target->kind == Decl::Kind::Linear || target->kind == Decl::Kind::Param ||
                 target->kind == Decl::Kind::Norm || target->kind == Decl::Kind::Embedding);
  if (!isParameter || target == &self) {
    Diagnostic &diagnostic =
        sema.report.error(DiagCode::BadTie, binding.tiedTo.range,
                          target == &self ? "`" + self.name + "` is tied to itself"
                          : target        ? "`" + binding.tiedTo.str() + "` is no parameter"
                                          : "there is no parameter `" + binding.tiedTo.str() + "`");
    if (!target)
      suggest(sema, diagnostic, binding.tiedTo.str(), [](const Decl &decl) {
        return decl.kind == Decl::Kind::Linear || decl.kind == Decl::Kind::Param ||
               decl.kind == Decl::Kind::Embedding;
      });
    return nullptr;
  }
  target->used = true;
  if (target->wrong)
    return nullptr;
  if (!target->weight.type) {
    sema.report
        .error(DiagCode::BadTie, binding.tiedTo.range,
               "`" + target->name + "` is itself tied to another parameter")
        .help("tie both to that one");
    return nullptr;
  }
  return &target->weight;
}

} // namespace attn::frontend
