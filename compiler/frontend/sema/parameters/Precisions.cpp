// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `precision`: what linear maps are computed in, all of them and those of some parameters.
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "dialect/WeightFormat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

namespace attn::frontend {

using namespace ast;

/// The precision of that name, or an error.
static std::optional<Precision> precisionOf(Sema &sema, const Name &name) {
  auto found = symbolizePrecision(name.text);
  if (found || name.text.empty()) // nothing where the parser has said so
    return found;
  std::vector<llvm::StringRef> known;
  for (const WeightFormat &format : weightFormats())
    known.push_back(format.name());
  Diagnostic &diagnostic = sema.report.error(DiagCode::BadPrecision, name.range,
                                             "there is no precision `" + name.text + "`");
  if (auto nearest = nearestName(name.text, known))
    diagnostic.didYouMean(*nearest);
  else
    diagnostic.note("there are " + llvm::join(known, ", "));
  return std::nullopt;
}

/// Gives the parameters of a pattern their precision. Where the model is not whole, some may be
/// missing.
static void applyPattern(Sema &sema, const Name &pattern, Precision precision, bool isWhole) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(pattern.text).split(parts, '*');
  llvm::Regex names("^" + llvm::join(llvm::map_range(parts, llvm::Regex::escape), ".*") + "$");
  bool isFound = false;
  for (auto param : sema.output.module->getOps<ParamOp>())
    if (names.match(param.getSource().getPattern())) {
      isFound = true;
      if (!sema.options.leavesOutPrecision)
        param.setPrecision(precision);
    }
  if (!isFound && isWhole)
    sema.report
        .error(DiagCode::BadPrecision, pattern.range,
               "no parameter is bound to `" + pattern.text + "`")
        .help("a pattern is the name of a tensor, `{n}` or `*` standing for the number of a layer");
}

void declarePrecisions(Sema &sema, const ModelDecl &decl) {
  const PrecisionDecl *first = nullptr;
  bool isWhole = !sema.report.diagnostics.hasErrors();
  for (const ItemPtr &item : decl.items) {
    auto *own = llvm::dyn_cast<PrecisionDecl>(item.get());
    std::optional<Precision> precision = own ? precisionOf(sema, own->name) : std::nullopt;
    if (!precision)
      continue;
    for (const Name &pattern : own->patterns)
      applyPattern(sema, pattern, *precision, isWhole);
    if (!own->patterns.empty())
      continue;
    if (first)
      sema.report
          .error(DiagCode::DuplicateImage, own->keyword, "a model says once what it is computed in")
          .at(first->keyword, "it is said here already")
          .help("that of some parameters: `precision int8 for \"output.weight\"`");
    else if (!sema.options.leavesOutPrecision)
      (*sema.output.module)
          ->setAttr(attributes::precision, PrecisionAttr::get(&sema.mlirContext, *precision));
    first = own;
  }
}

} // namespace attn::frontend
