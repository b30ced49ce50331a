// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of slots: every element of a parameter is read from where #attn.source says it lies.
#include "compiler/emit/SlotParts.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <vector>

namespace attn::test {
namespace {

using Sizes = std::vector<int64_t>;

std::string list(const Sizes &numbers, const char *separator) {
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? separator : "") + std::to_string(numbers[i]);
  return text;
}

/// A parameter of `shape` in a tensor of `source` axes.
class Param {
public:
  Param(const Sizes &shape, const Sizes &source, int64_t offset, const Sizes &strides) {
    context.loadDialect<AttnDialect>();
    std::string axes;
    for (size_t i = 0; i < shape.size(); ++i)
      axes += (i ? ", \"a" : "\"a") + std::to_string(i) + "\"";
    std::string text = "attn.param @w : tensor<" + list(shape, "x") + "xf32, #attn.axes<" + axes +
                       ">> from <\"w\", [" + list(source, ", ") +
                       "], offset = " + std::to_string(offset) + ", strides = [" +
                       list(strides, ", ") + "]>";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
  }
  ParamOp operator*() { return *module->getOps<ParamOp>().begin(); }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Where (k, n) of the slot is read from, or -1, by the formula of attn_abi_part.
int64_t placeOf(llvm::ArrayRef<attn_abi_part> parts, int64_t k, int64_t n) {
  int64_t place = -1;
  for (const attn_abi_part &part : parts) {
    if (n < part.column || n >= part.column + part.count)
      continue;
    EXPECT_EQ(place, -1) << "column " << n << " is filled twice";
    int64_t i = n - part.column;
    int64_t kInner = part.kInner ? part.kInner : k + 1;
    place = part.offset + k / kInner * part.kOuterStride + k % kInner * part.kStride +
            i / part.inner * part.outerStride + i % part.inner * part.innerStride;
  }
  return place;
}

/// Holds the parts of a parameter against its source; `outs` axes are columns, the others rows.
void checkParts(ParamOp param, size_t outs, int64_t column) {
  auto shape = mlir::cast<mlir::RankedTensorType>(param.getType()).getShape();
  auto strides = param.getSource().getStrides();
  int64_t rows = 1, columns = 1;
  for (size_t d = 0; d < shape.size(); ++d)
    (d < outs ? columns : rows) *= shape[d];
  llvm::SmallVector<attn_abi_part> parts;
  ASSERT_TRUE(mlir::succeeded(addParts(param, 3, rows, column, parts)));
  for (int64_t element = 0; element < rows * columns; ++element) {
    int64_t rest = element, expected = param.getSource().getOffset();
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
      expected += rest % shape[d] * strides[d];
    EXPECT_EQ(placeOf(parts, element % rows, column + element / rows), expected)
        << "element " << element;
  }
  EXPECT_EQ(placeOf(parts, 0, column - 1), -1);
  EXPECT_EQ(placeOf(parts, 0, column + columns), -1);
  for (const attn_abi_part &part : parts)
    EXPECT_EQ(part.parameter, 3);
}

TEST(SlotPartsTest, HeadsOfASplitProjection) {
  // k of [q; k; v], three heads of 4, inputs 5.
  Param param({3, 4, 5}, {36, 5}, 60, {20, 5, 1});
  checkParts(*param, 2, 12);
}

TEST(SlotPartsTest, InterleavedHeadsTakeTwoLevels) {
  // Heads outermost, then q, k, v, then 4 features: k of each head.
  Param param({3, 4, 5}, {3, 3, 4, 5}, 20, {60, 5, 1});
  checkParts(*param, 2, 0);
  llvm::SmallVector<attn_abi_part> parts;
  ASSERT_TRUE(mlir::succeeded(addParts(*param, 0, 5, 0, parts)));
  EXPECT_EQ(parts.size(), 1u);
}

TEST(SlotPartsTest, TransposedWeight) {
  Param param({6, 5}, {5, 6}, 0, {1, 6});
  checkParts(*param, 1, 0);
}

TEST(SlotPartsTest, RowsOfTwoLevels) {
  // Inputs p q c, where the checkpoint has c p q, and the other way round.
  Param placesFirst({2, 2, 2, 3}, {2, 3, 2, 2}, 0, {12, 2, 1, 4});
  checkParts(*placesFirst, 1, 0);
  Param channelsFirst({2, 3, 2, 2}, {2, 2, 2, 3}, 0, {12, 1, 6, 3});
  checkParts(*channelsFirst, 1, 0);
}

TEST(SlotPartsTest, RowsThatLieApartAreAnError) {
  // Inputs c q p, where the checkpoint has p q c.
  Param param({2, 3, 2, 2}, {2, 2, 2, 3}, 0, {12, 1, 3, 6});
  std::string message;
  mlir::ScopedDiagnosticHandler handler(
      &param.context, [&](mlir::Diagnostic &diagnostic) { message = diagnostic.str(); });
  llvm::SmallVector<attn_abi_part> parts;
  EXPECT_TRUE(mlir::failed(addParts(*param, 0, 12, 0, parts)));
  EXPECT_NE(message.find("'w': its inputs lie in another order"), std::string::npos) << message;
}

TEST(SlotPartsTest, RandomColumnOrders) {
  constexpr unsigned seed = 11;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 engine(seed);
  for (int round = 0; round < 100; ++round) {
    // A dense source whose axes are permuted, but for the last, which is the rows'.
    size_t rank = 2 + engine() % 4;
    Sizes source, strides(rank);
    for (size_t d = 0; d < rank; ++d)
      source.push_back(1 + int64_t(engine() % 4));
    int64_t stride = 1;
    for (size_t d = rank; d-- > 0; stride *= source[d])
      strides[d] = stride;
    std::vector<size_t> order(rank);
    std::iota(order.begin(), order.end(), size_t(0));
    std::shuffle(order.begin(), order.end() - 1, engine);
    Sizes shape, permuted;
    for (size_t d : order)
      shape.push_back(source[d]), permuted.push_back(strides[d]);
    Param param(shape, source, 0, permuted);
    SCOPED_TRACE("shape " + list(shape, " ") + ", strides " + list(permuted, " "));
    checkParts(*param, rank - 1, int64_t(engine() % 50) + 1);
  }
}

} // namespace
} // namespace attn::test
