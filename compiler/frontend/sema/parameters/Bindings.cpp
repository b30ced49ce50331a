// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a declaration says of its tensor in the checkpoint: its name, its layout, what it is tied
// to.
#include "compiler/frontend/sema/parameters/Bindings.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/parameters/LayerNames.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Statics.h"

#include <cmath>

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
    if (levelNamed(owner, word))
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
    diagnostic.note(weightOrBias ? "`{n}` is the layer's number, `{weight|bias}` stands for each, "
                                   "and `{a|b}` for the names of the two"
                                 : "`{n}` is the layer's number, `{n*23+881}` one that is counted "
                                   "in steps of 23 from 881 on");
    if (owner.levels.size() > 1)
      for (const StackLevel &level : llvm::ArrayRef(owner.levels).drop_back())
        diagnostic.note("`{" + level.name + "}` is the number of the layer of `" + level.name +
                        "`");
    return false;
  }
  return true;
}

/// The number that a name stands for here, which is known when compiling and whole.
static std::optional<int64_t> numberNamed(Sema &sema, llvm::StringRef name) {
  Decl *decl = sema.names.scope->find(name);
  if (!decl || (decl->kind != Decl::Kind::Static && decl->kind != Decl::Kind::Dim))
    return std::nullopt;
  decl->used = true;
  if (decl->kind == Decl::Kind::Dim) {
    Size size = sizeOf(sema, *decl);
    return size.error || !size.isStatic() ? std::nullopt : std::optional(size.offset);
  }
  ScopedHome home(sema, *decl);
  SemaValue value = eval(sema, *decl->expr);
  bool isWhole = value.isNumber() && value.number >= 0 && value.number < 1e9 &&
                 value.number == std::floor(value.number);
  return isWhole ? std::optional(static_cast<int64_t>(value.number)) : std::nullopt;
}

Name withNumbers(Sema &sema, const Name &pattern) {
  Name result = pattern;
  result.text.clear();
  llvm::StringRef rest = pattern.text;
  while (!rest.empty()) {
    auto [before, after] = rest.split('{');
    result.text += before;
    if (before.size() == rest.size())
      break;
    llvm::StringRef word = after.split('}').first;
    std::optional<int64_t> number = word == "n" ? std::nullopt : numberNamed(sema, word);
    result.text += number ? std::to_string(*number) : ("{" + word + "}").str();
    rest = after.drop_front(std::min(after.size(), word.size() + 1));
  }
  return result;
}

/// Where the braces that open at `open` close, in which others may stand.
static size_t closingOf(llvm::StringRef text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
    if (depth == 0)
      return at;
  }
  return llvm::StringRef::npos;
}

/// Where the `|` stands between the two names in a pair of braces, outside of others; npos where
/// there is none.
static size_t barOf(llvm::StringRef inside) {
  int depth = 0;
  for (size_t at = 0; at < inside.size(); ++at) {
    depth += inside[at] == '{' ? 1 : inside[at] == '}' ? -1 : 0;
    if (depth == 0 && inside[at] == '|')
      return at;
  }
  return llvm::StringRef::npos;
}

/// Puts the first or the second of the two names in `{a|b}` in its place; false where there is no
/// such place.
static bool choose(std::string &text, unsigned second) {
  for (size_t open = text.find('{'); open != std::string::npos; open = text.find('{', open + 1)) {
    size_t close = closingOf(text, open);
    if (close == llvm::StringRef::npos)
      return false;
    std::string inside = text.substr(open + 1, close - open - 1);
    size_t bar = barOf(inside);
    if (bar == llvm::StringRef::npos)
      continue;
    text.replace(open, close - open + 1, second ? inside.substr(bar + 1) : inside.substr(0, bar));
    return true;
  }
  return false;
}

std::optional<std::string> tensorName(Sema &sema, const Binding &binding, const Owner &owner,
                                      llvm::StringRef path, llvm::StringRef suffix,
                                      unsigned names) {
  Reporter &report = sema.report;
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
  Name chosen = binding.pattern;
  if (!suffix.empty() && !chosen.text.empty() && !choose(chosen.text, suffix == "weight" ? 0 : 1))
    chosen.text += ("." + suffix).str();
  Name pattern = withNumbers(sema, chosen);
  if (!checkPattern(report, pattern, owner, !suffix.empty()))
    return std::nullopt;
  return inStacks(owner, pattern.text);
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
