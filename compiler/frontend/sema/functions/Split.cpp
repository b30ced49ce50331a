// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// split: a pattern such as "b c (y p) (x q) -> b (y x) c p q" -> attn.rearrange.
#include "compiler/frontend/sema/functions/Split.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/expressions/Apply.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

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

/// One word of a pattern, and the axis that it stands for.
struct Atom {
  llvm::StringRef word;
  Axis axis;
};

/// A call of `split` while it is read: what its pattern says of the axes of `tensor`. Each step
/// gives false where it has reported an error.
class SplitReader {
public:
  SplitReader(Sema &sema, const StringExpr &pattern, const Expr &tensor)
      : sema(sema), pattern(pattern), tensor(tensor) {}

  /// Reads both sides of the pattern, which have the same words, each once.
  bool readPattern();
  /// Splits the axes of the tensor as the left side says.
  bool splitAxes(llvm::ArrayRef<Axis> axes);
  /// Merges what they were split into as the right side says.
  bool mergeAxes();

  /// The axes of the result, and the operands of attn.rearrange.
  Axes result;
  llvm::SmallVector<int64_t> split, sizes, order, merge;

private:
  SourceRange placeOf(llvm::StringRef word) const;
  bool malformed(const llvm::Twine &why, llvm::StringRef where = "");
  std::optional<Axis> axisOfWord(llvm::StringRef word, const Axis *own);
  Decl *dimOfWord(llvm::StringRef word);
  bool splitAxis(llvm::ArrayRef<llvm::StringRef> group, const Axis &axis);
  bool checkProduct(llvm::ArrayRef<llvm::StringRef> group, Axes parts, const Axis &axis);
  std::optional<Axis> mergedAxis(llvm::ArrayRef<llvm::StringRef> group);

  Sema &sema;
  const StringExpr &pattern;
  const Expr &tensor;
  Groups in, out;
  Axes axes; ///< Of the tensor.
  std::vector<Atom> atoms;
};
} // namespace

/// The place of a word of the pattern, which is its text where it holds no escapes.
SourceRange SplitReader::placeOf(llvm::StringRef word) const {
  SourceRange all = pattern.literal;
  if (word.empty() || all.size() != pattern.value.size() + 2)
    return all;
  uint32_t begin = all.begin + 1 + static_cast<uint32_t>(word.data() - pattern.value.data());
  return SourceRange{begin, begin + static_cast<uint32_t>(word.size())};
}

bool SplitReader::malformed(const llvm::Twine &why, llvm::StringRef where) {
  sema.report
      .error(DiagCode::MalformedPattern, placeOf(where), "this pattern cannot be read: " + why)
      .help("a pattern names the axes before and after: `\"b (y p) d -> b y p d\"`");
  return false;
}

bool SplitReader::readPattern() {
  auto [before, after] = llvm::StringRef(pattern.value).split("->");
  if (!llvm::StringRef(pattern.value).contains("->"))
    return malformed("it has no `->`");
  std::string why;
  llvm::StringRef where;
  if (!parseGroups(before, in, why, where) || !parseGroups(after, out, why, where))
    return malformed(why, where);
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
  return true;
}

/// The dim that a word names, in capital or small letters; null where there is none.
Decl *SplitReader::dimOfWord(llvm::StringRef word) {
  Decl *exact = sema.names.scope->find(word);
  if (exact && exact->kind == Decl::Kind::Dim)
    return exact;
  for (Scope *s = sema.names.scope; s; s = s->parent)
    for (Decl *decl : s->order)
      if (decl->kind == Decl::Kind::Dim && llvm::StringRef(decl->name).equals_insensitive(word))
        return decl;
  return nullptr;
}

/// What a word stands for: the tensor's own axis, or a dim of that name in either case.
std::optional<Axis> SplitReader::axisOfWord(llvm::StringRef word, const Axis *own) {
  if (own && llvm::StringRef(own->name).equals_insensitive(word)) {
    if (Decl *decl = sema.names.scope->find(own->name))
      decl->used = true;
    return *own;
  }
  Decl *dim = dimOfWord(word);
  if (!dim) {
    Diagnostic &diagnostic =
        sema.report.error(DiagCode::PatternAxes, placeOf(word),
                          "`" + word + "` in the pattern names no axis and no dim");
    diagnostic.at(tensor.range, "this is " + showAxes(axes))
        .note("a word of a pattern is an axis or a dim in capital or small letters: `y` is `Y`");
    suggest(sema, diagnostic, word, [](const Decl &d) { return d.kind == Decl::Kind::Dim; });
    return std::nullopt;
  }
  dim->used = true;
  Size size = sizeOf(sema, *dim);
  if (size.error)
    return std::nullopt;
  if (dim->dynamic)
    size = {dim->name, 1, 0, false};
  return axisOfSize(dim->name, size);
}

/// Whether an axis is as long as the product of what it is split into.
bool SplitReader::checkProduct(llvm::ArrayRef<llvm::StringRef> group, Axes parts,
                               const Axis &axis) {
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
  else if (fits) { // `H` of a block may be the caller's `T`: "H:T" and 4 make up "4*T"
    std::optional<LinearSize> part = parseLinearSize(dynamicName),
                              whole = parseLinearSize(axis.name);
    fits = part && whole && part->dim == whole->dim && part->scale * *product == whole->scale &&
           part->offset * *product == whole->offset;
  }
  if (fits)
    return true;
  SourceRange inside =
      group.empty() ? pattern.literal : placeOf(group.front()).to(placeOf(group.back()));
  std::string shown = "(" + llvm::join(group, " ") + ")";
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
  return false;
}

bool SplitReader::splitAxis(llvm::ArrayRef<llvm::StringRef> group, const Axis &axis) {
  split.push_back(group.size());
  Axes parts;
  for (llvm::StringRef word : group) {
    std::optional<Axis> part = axisOfWord(word, group.size() == 1 ? &axis : nullptr);
    if (!part)
      return false;
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
    return false;
  }
  return checkProduct(group, parts, axis);
}

bool SplitReader::splitAxes(llvm::ArrayRef<Axis> own) {
  axes.assign(own.begin(), own.end());
  // Axes in front that a block does not speak of stay there.
  for (size_t i = liftedBefore(sema.function, axes, in.size()); i-- > 0;) {
    in.insert(in.begin(), {axes[i].name});
    out.insert(out.begin(), {axes[i].name});
  }
  if (in.size() != axes.size()) {
    sema.report
        .error(DiagCode::PatternAxes, pattern.range,
               "the pattern has " + llvm::Twine(in.size()) + " axes, but the tensor has " +
                   llvm::Twine(axes.size()))
        .at(tensor.range, "this is " + showAxes(axes));
    return false;
  }
  return llvm::all_of(llvm::zip(in, axes), [&](const auto &both) {
    return splitAxis(std::get<0>(both), std::get<1>(both));
  });
}

/// The axis that the words of a group are merged into; nothing where it was reported.
std::optional<Axis> SplitReader::mergedAxis(llvm::ArrayRef<llvm::StringRef> group) {
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
    sema.report.error(DiagCode::PatternSize, pattern.range,
                      "`(" + llvm::join(group, " ") +
                          ")` is too large, or has more than one axis that is "
                          "known only when running");
    return std::nullopt;
  }
  if (name.empty())
    return Axis{"1", 1};
  if (!linear)
    return Axis{name, *product};
  if (group.size() == 1)
    return Axis{dynamicName, mlir::ShapedType::kDynamic};
  return axisOfSize("", {linear->dim.str(), linear->scale * *product, 0, false});
}

bool SplitReader::mergeAxes() {
  for (const auto &group : out) {
    merge.push_back(group.size());
    std::optional<Axis> axis = mergedAxis(group);
    if (!axis)
      return false;
    if (findAxis(result, axis->name) >= 0) {
      sema.report.error(DiagCode::DuplicateAxis, pattern.range,
                        "the axis `" + axis->name + "` would appear twice in the result");
      return false;
    }
    result.push_back(*axis);
  }
  return true;
}

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
  SplitReader reader(sema, *pattern, tensor);
  if (!reader.readPattern() || !value || !reader.splitAxes(axesOfValue(value)) ||
      !reader.mergeAxes())
    return SemaValue::wrong();
  mlir::RankedTensorType type = tensorType(sema, reader.result, call.range, elementOf(value));
  if (!type)
    return SemaValue::wrong();
  auto op = RearrangeOp::create(sema.builder, locate(sema, call.range), type, value, reader.split,
                                reader.sizes, reader.order, reader.merge);
  return SemaValue::of(op.getResult());
}

} // namespace attn::frontend
