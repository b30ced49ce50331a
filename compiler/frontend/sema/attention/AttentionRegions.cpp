// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The regions of an attention while they are built, and intervals of positions.
#include "compiler/frontend/sema/attention/AttentionRegions.h"
#include "compiler/frontend/sema/attention/Formula.h"
#include "compiler/frontend/sema/sizes/Axes.h"

#include "llvm/Support/FormatVariadic.h"

namespace attn::frontend {

//===-- intervals ---------------------------------------------------------------------------===//

/// Unbounded where an end is, or lies beyond what positions may be.
static Interval bounded(int64_t low, int64_t high) {
  Interval range{std::max(low, -Interval::unbounded), std::min(high, Interval::unbounded)};
  return range.isBounded() ? range : Interval{};
}

Interval Interval::operator+(const Interval &other) const {
  return isBounded() && other.isBounded() ? bounded(low + other.low, high + other.high)
                                          : Interval{};
}

Interval Interval::operator-() const { return {-high, -low}; }

Interval Interval::operator*(const Interval &other) const {
  if (!isBounded() || !other.isBounded())
    return {};
  auto [least, most] =
      std::minmax({low * other.low, low * other.high, high * other.low, high * other.high});
  return bounded(least, most);
}

Interval Interval::remainder(int64_t divisor) const {
  return isWithin(0, divisor - 1) ? *this : Interval{0, divisor - 1};
}

Interval Interval::quotient(int64_t divisor) const {
  if (!isBounded())
    return {};
  auto floor = [&](int64_t x) { return (x - (x % divisor + divisor) % divisor) / divisor; };
  return {floor(low), floor(high)};
}

Interval Interval::magnitude() const {
  if (low >= 0)
    return *this;
  return {high <= 0 ? -high : 0, std::max(-low, high)};
}

Interval Interval::hull(const Interval &a, const Interval &b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Interval Interval::minimum(const Interval &a, const Interval &b) {
  return {std::min(a.low, b.low), std::min(a.high, b.high)};
}

Interval Interval::maximum(const Interval &a, const Interval &b) {
  return {std::max(a.low, b.low), std::max(a.high, b.high)};
}

std::string Interval::text() const {
  if (low <= -unbounded && high >= unbounded)
    return "any whole number";
  if (low <= -unbounded)
    return llvm::formatv("up to {0}", high).str();
  if (high >= unbounded)
    return llvm::formatv("from {0} on", low).str();
  return low == high ? std::to_string(low) : llvm::formatv("from {0} to {1}", low, high).str();
}

//===-- regions -----------------------------------------------------------------------------===//

mlir::Block &AttentionRegions::add(Part part) {
  blocks[part] = std::make_unique<mlir::Block>();
  mlir::Block &block = *blocks[part];
  mlir::MLIRContext *context = loc.getContext();
  mlir::Type f32 = mlir::Float32Type::get(context), index = mlir::IndexType::get(context);
  // A score's vectors get their types when they are known.
  for (unsigned i = 0; i < ownArguments(part); ++i)
    block.addArgument(f32, loc);
  if (part == Cap)
    return block;
  for (const Axis &axis : queryAxes)
    block.addArgument(index, named(axis.name == rowAxis ? "i" : axisLabel(axis.name).lower()));
  if (part != Sink)
    block.addArgument(index, named("j"));
  for (auto [tensor, name] : llvm::zip_equal(captures, captureNames))
    block.addArgument(tensor.getType(), named(name));
  return block;
}

AttentionRegions::Part AttentionRegions::partOf(mlir::Block *block) const {
  for (unsigned part = 0; part < blocks.size(); ++part)
    if (blocks[part].get() == block)
      return static_cast<Part>(part);
  llvm_unreachable("a region of this attention");
}

mlir::Location AttentionRegions::named(llvm::StringRef name) const {
  return name.empty() ? loc
                      : mlir::NameLoc::get(mlir::StringAttr::get(loc.getContext(), name), loc);
}

mlir::Value AttentionRegions::capture(mlir::Block *block, mlir::Value tensor,
                                      llvm::StringRef name) {
  auto found = llvm::find(captures, tensor);
  unsigned at = found - captures.begin();
  if (found == captures.end()) {
    captures.push_back(tensor), captureNames.push_back(name.str());
    for (unsigned part = 0; part < blocks.size(); ++part)
      if (blocks[part] && part != Cap)
        blocks[part]->addArgument(tensor.getType(), named(name));
  }
  return block->getArgument(block->getNumArguments() - captures.size() + at);
}

mlir::ValueRange AttentionRegions::positions(mlir::Block *block) const {
  Part part = partOf(block);
  return block->getArguments().slice(ownArguments(part), queryAxes.size() + (part != Sink));
}

mlir::Value AttentionRegions::positionAlong(mlir::Block *block, llvm::StringRef axis) const {
  mlir::ValueRange all = positions(block);
  if (int at = findAxis(queryAxes, axis); at >= 0)
    return all[at];
  bool isKey = axisLabel(axis) == axisLabel(key.name) && all.size() > queryAxes.size();
  return isKey ? all.back() : mlir::Value();
}

mlir::Value AttentionRegions::vectorOf(FormulaValue::Side side, mlir::Value tensor) {
  bool isQuery = side == FormulaValue::Side::Query;
  mlir::Value &taken = isQuery ? queryVector : keyVector;
  if (taken && taken != tensor)
    return nullptr;
  taken = tensor;
  mlir::BlockArgument argument = blocks[Score]->getArgument(isQuery ? 0 : 1);
  auto type = llvm::cast<mlir::RankedTensorType>(tensor.getType());
  argument.setType(mlir::RankedTensorType::get({type.getShape().back()},
                                               mlir::Float32Type::get(loc.getContext())));
  return argument;
}

/// Erases what nothing uses: names that a formula did not need.
static void eraseUnused(mlir::Block &block) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (mlir::isOpTriviallyDead(&op))
      op.erase();
}

void AttentionRegions::finish() {
  for (auto &block : blocks)
    if (block)
      eraseUnused(*block);
  for (size_t at = captures.size(); at-- > 0;) {
    auto argumentOf = [&](mlir::Block &block) {
      return block.getNumArguments() - static_cast<unsigned>(captures.size() - at);
    };
    auto takesIt = [&](unsigned part) { return blocks[part] && part != Cap; };
    bool isUsed = false;
    for (unsigned part = 0; part < blocks.size(); ++part)
      isUsed |= takesIt(part) && !blocks[part]->getArgument(argumentOf(*blocks[part])).use_empty();
    if (isUsed)
      continue;
    for (unsigned part = 0; part < blocks.size(); ++part)
      if (takesIt(part))
        blocks[part]->eraseArgument(argumentOf(*blocks[part]));
    captures.erase(captures.begin() + at), captureNames.erase(captureNames.begin() + at);
  }
}

void AttentionRegions::moveTo(AttentionOp op) {
  mlir::Region *regions[] = {&op.getScore(), &op.getBias(), &op.getCap(), &op.getMask(),
                             &op.getSink()};
  for (unsigned part = 0; part < blocks.size(); ++part)
    if (blocks[part])
      regions[part]->push_back(blocks[part].release());
}

} // namespace attn::frontend
