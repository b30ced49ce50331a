// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed tensors: `split("qkv", h q k v)` says which parts a tensor of the checkpoint has, and in
// which order; from that come the offset and strides of each.
#include "compiler/frontend/sema/parameters/Packing.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace attn::frontend {

using namespace ast;

llvm::SmallVector<int64_t, 4> sizesOf(llvm::ArrayRef<Axis> axes) {
  llvm::SmallVector<int64_t, 4> sizes;
  for (const Axis &axis : axes)
    sizes.push_back(axis.size);
  return sizes;
}

/// What exceeds 64 bits stays at their end: it is refused later (`productOf`).
static int64_t times(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? INT64_MAX : product;
}

int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  return llvm::AddOverflow(a, b, sum) ? INT64_MAX : sum;
}

llvm::SmallVector<int64_t, 4> rowMajor(llvm::ArrayRef<Axis> axes, int64_t unit) {
  llvm::SmallVector<int64_t, 4> strides(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    strides[i] = unit;
    unit = times(unit, axes[i].size);
  }
  return strides;
}

int64_t count(llvm::ArrayRef<Axis> axes) {
  int64_t product = 1;
  for (const Axis &axis : axes)
    product = times(product, axis.size);
  return product;
}

/// Whether the maps of a linear map along axes are stored as [in, out].
static bool isTurnedAlong(const Decl &decl) {
  return !decl.along.empty() && llvm::any_of(decl.binding->layouts, [](const Name &layout) {
    return layout.text == "conv1d";
  });
}

Axes rowAxes(const Decl &decl) {
  Axes axes = decl.along;
  llvm::append_range(axes, isTurnedAlong(decl) ? decl.from : decl.to);
  return axes;
}

const Axes &columnAxes(const Decl &decl) { return isTurnedAlong(decl) ? decl.to : decl.from; }

/// The last word of a path: what a split calls the part.
static llvm::StringRef lastWord(const Path &path) { return path.parts.back().text; }

const Scope::Parts &Scope::partsBeside(const Decl &decl) {
  if (!packed) {
    packed.emplace();
    for (const Decl *other : order)
      if (other->binding && other->binding->kind == Binding::Kind::Split)
        (*packed)[{other->kind, other->binding->pattern.text}][lastWord(*other->path)] = other;
  }
  return (*packed)[{decl.kind, decl.binding->pattern.text}];
}

namespace {
/// What the words of a binding say: `leading` axes of the map, then its parts.
struct Components {
  size_t leading = 0;
  std::vector<const Decl *> order;
};
} // namespace

/// Reports a word of a binding that is no part of the tensor, or an axis at the wrong place.
static void reportComponent(Reporter &report, const Decl &decl, const Binding &binding,
                            const Name &word, const Scope::Parts &parts) {
  std::vector<llvm::StringRef> words;
  for (const auto &part : parts)
    words.push_back(part.first());
  llvm::sort(words);
  Axes rows = rowAxes(decl);
  bool anyAxis = llvm::any_of(rows, [&](const Axis &axis) {
    return llvm::StringRef(axis.name).equals_insensitive(word.text);
  });
  Diagnostic &diagnostic =
      report.error(DiagCode::SplitParts, word.range,
                   anyAxis ? "the axis `" + word.text + "` cannot stand here"
                           : "`" + word.text + "` is neither a part of `" + binding.pattern.text +
                                 "` nor an axis of `" + decl.name + "`");
  diagnostic.at(decl.range, (decl.along.empty() ? "gives " : "its rows are ") + listAxes(rows));
  if (anyAxis)
    diagnostic.note("axes stand before the parts, in the order of the map: `h q k v` is packed "
                    "head by head");
  else if (auto near = nearestName(word.text, words))
    diagnostic.didYouMean(*near);
  else
    diagnostic.note("the parts are " + llvm::join(words, ", "));
}

/// The parts of a packed tensor: linear maps of this body that are bound to it. Nothing where they
/// were reported.
static std::optional<Components> componentsOf(Reporter &report, const Decl &decl,
                                              const LinearDecl &linear, Scope &owned) {
  const Binding &binding = linear.binding;
  const Scope::Parts &parts = owned.partsBeside(decl);
  Axes rows = rowAxes(decl);
  Components found;
  std::set<std::string> seen;
  for (const Name &word : binding.components) {
    if (!seen.insert(word.text).second) {
      report.error(DiagCode::SplitParts, word.range, "the part `" + word.text + "` is given twice");
      return std::nullopt;
    }
    if (auto it = parts.find(word.text); it != parts.end()) {
      found.order.push_back(it->second);
      continue;
    }
    bool isAxis = found.order.empty() && found.leading < rows.size() &&
                  llvm::StringRef(rows[found.leading].name).equals_insensitive(word.text);
    if (!isAxis) {
      reportComponent(report, decl, binding, word, parts);
      return std::nullopt;
    }
    ++found.leading;
  }
  for (const Path &path : linear.names)
    if (!seen.count(lastWord(path).str())) {
      report
          .error(DiagCode::SplitParts, binding.range,
                 "`" + path.str() + "` is no part of the packed tensor")
          .at(path.range, "its part would be called `" + lastWord(path) + "`")
          .help("name all parts, in the order of the tensor: `split(\"" + binding.pattern.text +
                "\", q k v)`");
      return std::nullopt;
    }
  return found;
}

static std::optional<Packing> splitPacking(Sema &sema, const Decl &decl, const LinearDecl &linear,
                                           Scope &owned) {
  const Binding &binding = linear.binding;
  if (!spend(sema, binding.components.size(), binding.range))
    return std::nullopt;
  std::optional<Components> components = componentsOf(sema.report, decl, linear, owned);
  if (!components)
    return std::nullopt;
  size_t leading = components->leading;
  Axes own = rowAxes(decl);
  auto lead = llvm::ArrayRef<Axis>(own).take_front(leading);
  Packing packing;
  int64_t groupSize = 0; // of all the parts beside each other
  for (const Decl *part : components->order) {
    Axes rows = rowAxes(*part);
    bool sameLead = rows.size() >= leading && std::equal(lead.begin(), lead.end(), rows.begin());
    if (part != &decl && part->wrong)
      return std::nullopt;
    if (rows.empty() || !sameLead) {
      sema.report
          .error(DiagCode::SplitParts, binding.range,
                 "the parts of a tensor that is packed by axis have this axis first")
          .at(part->range, (part->along.empty() ? "gives " : "its rows are ") + listAxes(rows));
      return std::nullopt;
    }
    if (part == &decl)
      packing.offset = groupSize;
    groupSize = plus(groupSize, count(llvm::ArrayRef<Axis>(rows).drop_front(leading)));
    if (sizesOf(columnAxes(*part)) != sizesOf(columnAxes(decl))) {
      sema.report
          .error(DiagCode::SplitParts, binding.range,
                 "the parts of a packed tensor take the same axes, but `" + decl.name + "` takes " +
                     listAxes(columnAxes(decl)) + " and `" + part->name + "` takes " +
                     listAxes(columnAxes(*part)))
          .at(decl.range, "declared here")
          .at(part->range, "declared here");
      return std::nullopt;
    }
  }
  packing.strides = rowMajor(lead, groupSize);
  llvm::append_range(packing.strides, rowMajor(llvm::ArrayRef<Axis>(own).drop_front(leading), 1));
  packing.total = times(groupSize, count(lead));
  return packing;
}

/// A size of a binding, known when compiling; nothing where it was reported.
static std::optional<int64_t> boundSize(Sema &sema, const Expr &expr) {
  Size size = evalSize(sema, expr);
  if (size.error)
    return std::nullopt;
  if (size.isStatic())
    return size.offset;
  sema.report.error(DiagCode::DynamicAxis, expr.range,
                    "`" + size.dim + "`, which is known only when running, is no row of a tensor");
  return std::nullopt;
}

std::optional<RowsOfTensor> slicedRows(Sema &sema, const Decl &decl, int64_t rows, Scope &owned) {
  const Binding &binding = *decl.binding;
  std::optional<int64_t> from = boundSize(sema, *binding.from), to = boundSize(sema, *binding.to),
                         of = binding.of ? boundSize(sema, *binding.of) : std::nullopt;
  if (!from || !to || (binding.of && !of))
    return std::nullopt;
  if (*from < 0 || *to - *from != rows) {
    sema.report
        .error(DiagCode::CutBounds, binding.from->range.to(binding.to->range),
               "`" + decl.name + "` has " + llvm::Twine(rows) + " rows, but this is " +
                   (*from < 0 ? "before the first" : llvm::Twine(*to - *from) + " of the tensor"))
        .at(decl.range, "declared here");
    return std::nullopt;
  }
  int64_t total = of.value_or(*to);
  bool isBefore = true; // an overlap is said at the later of both
  for (const Decl *other : owned.order) {
    isBefore &= other != &decl;
    if (other == &decl || !other->binding || other->binding->kind != Binding::Kind::Slice ||
        other->binding->pattern.text != binding.pattern.text)
      continue;
    std::optional<int64_t> first = boundSize(sema, *other->binding->from),
                           end = boundSize(sema, *other->binding->to);
    if (!first || !end)
      return std::nullopt;
    if (isBefore && *first < *to && *from < *end) {
      sema.report
          .error(DiagCode::SharedBinding, binding.range,
                 "`" + decl.name + "` is bound to rows of `" + binding.pattern.text + "` that `" +
                     other->name + "` is bound to")
          .at(other->binding->range, "bound to them here");
      return std::nullopt;
    }
    if (!of)
      total = std::max(total, *end);
  }
  if (total < *to || !productOf({total})) {
    sema.report.error(DiagCode::CutBounds, binding.range,
                      "the rows end at " + llvm::Twine(*to) + ", but `" + binding.pattern.text +
                          "` has " + llvm::Twine(total));
    return std::nullopt;
  }
  return RowsOfTensor{*from, rows, total};
}

std::optional<Packing> packing(Sema &sema, const Decl &decl, const LinearDecl &linear,
                               Scope &owned) {
  if (linear.binding.kind == Binding::Kind::Split)
    return splitPacking(sema, decl, linear, owned);
  if (linear.binding.kind == Binding::Kind::Slice) {
    std::optional<RowsOfTensor> rows = slicedRows(sema, decl, count(rowAxes(decl)), owned);
    return rows ? std::optional(Packing{rows->total, rows->offset, rowMajor(rowAxes(decl), 1)})
                : std::nullopt;
  }
  return Packing{count(rowAxes(decl)), 0, rowMajor(rowAxes(decl), 1)};
}

} // namespace attn::frontend
