// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// split: a pattern such as "b c (y p) (x q) -> b (y x) c p q" -> attn.rearrange.
#include "compiler/frontend/sema/Split.h"
#include "compiler/frontend/sema/Apply.h"
#include "compiler/frontend/sema/Axes.h"
#include "compiler/frontend/sema/Dims.h"
#include "compiler/frontend/sema/Exprs.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/Statics.h"
#include "compiler/frontend/sema/Tensors.h"
#include "compiler/frontend/sema/Types.h"

#include "llvm/ADT/StringExtras.h"

namespace attn::frontend {

using namespace ast;

namespace {
/// One side of a pattern: `b (y p)` is {{b}, {y, p}}.
using Groups = std::vector<std::vector<llvm::StringRef>>;

/// `at` is where it cannot be read.
bool parseGroups(llvm::StringRef text, Groups &groups, std::string &why, llvm::StringRef &at) {
  bool open = false;
  while (!(text = text.ltrim()).empty()) {
    char c = text.front();
    at = text.take_front(1);
    if (c == '(' || c == ')') {
      if (open == (c == '(')) {
        why = open ? "a `(` inside of `( )`" : "a `)` without `(`";
        return false;
      }
      open = !open;
      if (open)
        groups.emplace_back();
      text = text.drop_front();
      continue;
    }
    llvm::StringRef word = text.take_while([](char w) { return llvm::isAlnum(w) || w == '_'; });
    if (word.empty()) {
      why = "`" + text.take_front(1).str() + "` has no meaning in it";
      return false;
    }
    at = word;
    if (llvm::isDigit(word.front()) && word != "1") {
      why = "`" + word.str() + "` is no axis; of numbers only `1` may stand in it";
      return false;
    }
    if (!open)
      groups.emplace_back();
    if (word != "1")
      groups.back().push_back(word);
    text = text.drop_front(word.size());
  }
  if (open)
    why = "a `(` is not closed";
  return !open;
}

struct Atom {
  llvm::StringRef word;
  Axis axis;
};
} // namespace

SemaValue callSplit(Sema &sema, const CallExpr &call) {
  llvm::StringRef usage = "split(x, \"b (y p) d -> b y p d\")";
  if (!plainArguments(sema.report, call, "split", 2, 2, usage))
    return SemaValue::wrong();
  const Expr &tensor = *call.arguments[0].value;
  mlir::Value value = evalTensor(sema, tensor, "what is split", /*anyElement=*/true);
  auto *pattern = llvm::dyn_cast<StringExpr>(call.arguments[1].value.get());
  if (!pattern) {
    if (!llvm::isa<ErrorExpr>(*call.arguments[1].value))
      sema.report
          .error(DiagCode::WrongArguments, call.arguments[1].value->range,
                 "expected the pattern of `split` in quotes")
          .help(llvm::Twine("write `") + usage + "`");
    return SemaValue::wrong();
  }
  // The place of a word of the pattern, which is its text where it holds no escapes.
  auto placeOf = [&](llvm::StringRef word) {
    SourceRange all = pattern->literal;
    if (word.empty() || all.size() != pattern->value.size() + 2)
      return all;
    uint32_t begin = all.begin + 1 + static_cast<uint32_t>(word.data() - pattern->value.data());
    return SourceRange{begin, begin + static_cast<uint32_t>(word.size())};
  };
  auto malformed = [&](const llvm::Twine &why, llvm::StringRef where = "") -> SemaValue {
    sema.report
        .error(DiagCode::MalformedPattern, placeOf(where), "this pattern cannot be read: " + why)
        .help("a pattern names the axes before and after: `\"b (y p) d -> b y p d\"`");
    return SemaValue::wrong();
  };
  auto [before, after] = llvm::StringRef(pattern->value).split("->");
  if (!llvm::StringRef(pattern->value).contains("->"))
    return malformed("it has no `->`");
  Groups in, out;
  std::string why;
  llvm::StringRef where;
  if (!parseGroups(before, in, why, where) || !parseGroups(after, out, why, where))
    return malformed(why, where);
  // The same words on both sides, each once.
  std::vector<llvm::StringRef> words, outWords;
  for (auto &group : in)
    llvm::append_range(words, group);
  for (auto &group : out)
    llvm::append_range(outWords, group);
  for (auto *side : {&words, &outWords})
    for (size_t i = 0; i < side->size(); ++i)
      if (llvm::is_contained(llvm::ArrayRef(*side).take_front(i), (*side)[i]))
        return malformed("`" + (*side)[i] + "` stands twice on one side", (*side)[i]);
  for (llvm::StringRef word : words)
    if (!llvm::is_contained(outWords, word))
      return malformed("`" + word + "` is missing after the `->`", word);
  for (llvm::StringRef word : outWords)
    if (!llvm::is_contained(words, word))
      return malformed("`" + word + "` is missing before the `->`", word);
  if (!value)
    return SemaValue::wrong();

  Axes axes = axesOfValue(value);
  // Axes in front that a block does not speak of stay there.
  for (size_t i = liftedBefore(sema.function, axes, in.size()); i-- > 0;) {
    in.insert(in.begin(), {axes[i].name});
    out.insert(out.begin(), {axes[i].name});
  }
  if (in.size() != axes.size()) {
    sema.report
        .error(DiagCode::PatternAxes, pattern->range,
               "the pattern has " + llvm::Twine(in.size()) + " axes, but the tensor has " +
                   llvm::Twine(axes.size()))
        .at(tensor.range, "this is " + showAxes(axes));
    return SemaValue::wrong();
  }
  // What the words stand for: the tensor's own axis, or a dim of that name in either case.
  auto named = [&](llvm::StringRef word, const Axis *own) -> std::optional<Axis> {
    if (own && llvm::StringRef(own->name).equals_insensitive(word)) {
      if (Decl *decl = sema.names.scope->find(own->name))
        decl->used = true;
      return *own;
    }
    Decl *best = sema.names.scope->find(word);
    if (!best || best->kind != Decl::Kind::Dim)
      best = nullptr;
    for (Scope *s = sema.names.scope; s && !best; s = s->parent)
      for (Decl *decl : s->order)
        if (!best && decl->kind == Decl::Kind::Dim &&
            llvm::StringRef(decl->name).equals_insensitive(word))
          best = decl;
    if (!best) {
      Diagnostic &diagnostic =
          sema.report.error(DiagCode::PatternAxes, placeOf(word),
                            "`" + word + "` in the pattern names no axis and no dim");
      diagnostic.at(tensor.range, "this is " + showAxes(axes))
          .note("a word of a pattern is an axis or a dim in capital or small letters: `y` is `Y`");
      suggest(sema, diagnostic, word, [](const Decl &d) { return d.kind == Decl::Kind::Dim; });
      return std::nullopt;
    }
    best->used = true;
    Size size = sizeOf(sema, *best);
    if (size.error)
      return std::nullopt;
    if (best->dynamic)
      size = {best->name, 1, 0, false};
    return axisOfSize(best->name, size);
  };
  std::vector<Atom> atoms;
  llvm::SmallVector<int64_t> split, sizes;
  for (auto [group, axis] : llvm::zip(in, axes)) {
    split.push_back(group.size());
    std::string shown = "(" + llvm::join(group, " ") + ")";
    SourceRange inside =
        group.empty() ? pattern->literal : placeOf(group.front()).to(placeOf(group.back()));
    Axes parts;
    for (llvm::StringRef word : group) {
      std::optional<Axis> part = named(word, group.size() == 1 ? &axis : nullptr);
      if (!part)
        return SemaValue::wrong();
      parts.push_back(*part);
      atoms.push_back({word, *part});
      sizes.push_back(part->isDynamic() ? -1 : part->size);
    }
    if (group.size() == 1 && parts[0] != axis) {
      sema.report
          .error(DiagCode::PatternAxes, placeOf(group[0]),
                 "the pattern has `" + group[0] + "` where the tensor has the axis `" + axis.name +
                     "`")
          .at(tensor.range, "this is " + showAxes(axes))
          .note("an axis that is not split keeps its name, in capital or small letters");
      return SemaValue::wrong();
    }
    llvm::SmallVector<int64_t> fixed;
    unsigned dynamic = 0;
    std::string dynamicName;
    for (const Axis &part : parts) {
      if (part.isDynamic()) {
        ++dynamic;
        dynamicName = part.name;
      } else {
        fixed.push_back(part.size);
      }
    }
    std::optional<int64_t> product = productOf(fixed);
    bool fits = product && dynamic == (axis.isDynamic() ? 1u : 0u);
    if (fits && !dynamic)
      fits = *product == axis.size;
    else if (fits)
      fits = axisOfSize("", {dynamicName, *product, 0, false}).name == axis.name;
    if (!fits) {
      Diagnostic &diagnostic = sema.report.error(
          DiagCode::PatternSize, inside,
          "the axis `" + axis.name + "` is not made up of `" + shown + "`" +
              (product && !dynamic && !axis.isDynamic()
                   ? ": " + std::to_string(axis.size) + " is not " + std::to_string(*product)
                   : ""));
      diagnostic.at(tensor.range, "this is " + showAxes(axes));
      parts.push_back(axis);
      if (std::string where = whereSizes(sema, parts); !where.empty())
        diagnostic.note(where);
      return SemaValue::wrong();
    }
  }
  Axes result;
  llvm::SmallVector<int64_t> order, merge;
  for (const auto &group : out) {
    merge.push_back(group.size());
    llvm::SmallVector<int64_t> fixed;
    std::string name, dynamicName;
    bool nested = false;
    for (llvm::StringRef word : group) {
      size_t at = 0;
      while (atoms[at].word != word)
        ++at;
      order.push_back(at);
      const Axis &axis = atoms[at].axis;
      name += (name.empty() ? "" : "*") + axis.name;
      if (!axis.isDynamic())
        fixed.push_back(axis.size);
      else if (!dynamicName.empty())
        nested = true;
      else
        dynamicName = axis.name;
    }
    std::optional<int64_t> product = productOf(fixed);
    auto linear = dynamicName.empty() ? std::optional<LinearSize>() : parseLinearSize(dynamicName);
    if (nested || !product || *product > INT32_MAX ||
        (linear && (linear->offset || !productOf({linear->scale, *product})))) {
      sema.report.error(DiagCode::PatternSize, pattern->range,
                        "`(" + llvm::join(group, " ") +
                            ")` is too large, or has more than one axis that is "
                            "known only when running");
      return SemaValue::wrong();
    }
    Axis axis =
        name.empty() ? Axis{"1", 1}
        : linear ? (group.size() == 1
                        ? Axis{dynamicName, mlir::ShapedType::kDynamic}
                        : axisOfSize("", {linear->dim.str(), linear->scale * *product, 0, false}))
                 : Axis{name, *product};
    if (findAxis(result, axis.name) >= 0) {
      sema.report.error(DiagCode::DuplicateAxis, pattern->range,
                        "the axis `" + axis.name + "` would appear twice in the result");
      return SemaValue::wrong();
    }
    result.push_back(axis);
  }
  mlir::RankedTensorType type = tensorType(sema, result, call.range, elementOf(value));
  if (!type)
    return SemaValue::wrong();
  auto op = RearrangeOp::create(sema.builder, locate(sema, call.range), type, value, split, sizes,
                                order, merge);
  return SemaValue::of(op.getResult());
}

} // namespace attn::frontend
