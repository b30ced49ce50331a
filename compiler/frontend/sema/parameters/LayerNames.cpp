// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers of stacks in stacks are numbered by one number, that of the outer layer times the inner
// layers, plus that of the inner one. Names of tensors hold the number of each.
#include "compiler/frontend/sema/parameters/LayerNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attn::frontend {

namespace arith = mlir::arith;

/// Whether this is `*23+881`, or either of the two, or nothing.
static bool isCounting(llvm::StringRef text) {
  unsigned number = 1;
  bool isRight = !text.consume_front("*") || (!text.consumeInteger(10, number) && number > 0);
  return isRight && (!text.consume_front("+") || !text.consumeInteger(10, number)) && text.empty();
}

/// `n*23+881` to `n` and `*23+881`.
static std::pair<llvm::StringRef, llvm::StringRef> splitCounting(llvm::StringRef word) {
  size_t at = std::min(word.find_first_of("*+"), word.size());
  return isCounting(word.drop_front(at)) ? std::pair(word.take_front(at), word.drop_front(at))
                                         : std::pair(word, llvm::StringRef());
}

std::optional<size_t> levelNamed(const Owner &owner, llvm::StringRef text) {
  llvm::StringRef word = splitCounting(text).first;
  for (size_t i = owner.levels.size(); i-- > 0;)
    if (!owner.levels[i].isShared && (word == "n" || word == owner.levels[i].name))
      return i;
  return std::nullopt;
}

/// `text` with `placeholder(word)` for each word in braces that there is one for.
static std::string
replaceNumbers(llvm::StringRef text,
               llvm::function_ref<std::optional<std::string>(llvm::StringRef)> placeholder) {
  std::string result;
  while (true) {
    auto [before, after] = text.split('{');
    result += before;
    if (before.size() == text.size())
      return result;
    llvm::StringRef word = after.split('}').first;
    std::optional<std::string> known = placeholder(word);
    result += known ? *known : "{" + word.str() + "}";
    text = after.drop_front(std::min(after.size(), word.size() + 1));
  }
}

std::string inStacks(const Owner &owner, llvm::StringRef text) {
  size_t outermost = owner.levels.size();
  std::string name = replaceNumbers(text, [&](llvm::StringRef word) -> std::optional<std::string> {
    std::optional<size_t> level = levelNamed(owner, word);
    if (!level)
      return std::nullopt;
    outermost = std::min(outermost, *level);
    return "{" + std::to_string(*level) + splitCounting(word).second.str() + "}";
  });
  return (outermost < owner.levels.size() ? owner.levels[outermost].before : owner.prefix) + name;
}

void enterStack(Owner &owner, StackLevel level, llvm::StringRef path) {
  size_t own = owner.levels.size();
  level.placeholder = "{" + std::to_string(own) + "}";
  owner.inStack = true;
  owner.layerCount *= level.layers;
  level.before = owner.prefix;
  owner.levels.push_back(level);
  // What stands before its own number is not known yet: it is in the place of the stack.
  std::string name = inStacks(owner, path);
  llvm::StringRef open = llvm::StringRef(level.placeholder).drop_back(); // `{0}`, or `{0+5}`
  owner.levels.back().before = llvm::StringRef(name).split(open).first.str();
  owner.prefix = name + ".";
}

/// How often each number of a level comes again: layers of the levels of `levels` behind it.
static int64_t layersBehind(const Owner &owner, llvm::ArrayRef<size_t> levels, size_t level) {
  int64_t count = 1;
  for (size_t other : levels)
    if (other > level)
      count *= owner.levels[other].layers;
  return count;
}

/// Whether a level's number stands in a name, as it is or counted otherwise.
static bool mentions(llvm::StringRef name, const StackLevel &level) {
  llvm::StringRef open = llvm::StringRef(level.placeholder).drop_back();
  return llvm::any_of(llvm::ArrayRef({"}", "*", "+"}),
                      [&](const char *end) { return name.contains((open + end).str()); });
}

LayerPattern patternOf(const Owner &owner, llvm::StringRef name) {
  LayerPattern pattern;
  for (const auto &[i, level] : llvm::enumerate(owner.levels))
    if (mentions(name, level) && !level.isShared) {
      pattern.levels.push_back(i);
      pattern.layers *= level.layers;
    }
  pattern.text = replaceNumbers(name, [&](llvm::StringRef word) -> std::optional<std::string> {
    auto [index, counting] = splitCounting(word);
    size_t level = 0;
    if (index.getAsInteger(10, level) || !llvm::is_contained(pattern.levels, level))
      return std::nullopt;
    int64_t behind = layersBehind(owner, pattern.levels, level);
    std::string number = "{n";
    number += behind > 1 ? "/" + std::to_string(behind) : "";
    number +=
        level != pattern.levels.front() ? "%" + std::to_string(owner.levels[level].layers) : "";
    return number + counting.str() + "}";
  });
  return pattern;
}

mlir::Value layerOf(Sema &sema, llvm::ArrayRef<size_t> levels, mlir::Location loc) {
  if (levels.empty())
    return nullptr;
  const Owner &owner = *sema.function.owner;
  if (levels.size() == owner.levels.size())
    return sema.function.layer;
  auto number = [&](int64_t value) -> mlir::Value {
    return arith::ConstantIndexOp::create(sema.builder, loc, value);
  };
  auto all = llvm::to_vector(llvm::seq<size_t>(0, owner.levels.size()));
  mlir::Value layer;
  for (size_t level : levels) {
    mlir::Value own = arith::DivUIOp::create(sema.builder, loc, sema.function.layer,
                                             number(layersBehind(owner, all, level))),
                count = number(owner.levels[level].layers);
    own = arith::RemUIOp::create(sema.builder, loc, own, count);
    if (layer)
      own = arith::AddIOp::create(sema.builder, loc, own,
                                  arith::MulIOp::create(sema.builder, loc, layer, count));
    layer = own;
  }
  return layer;
}

} // namespace attn::frontend
