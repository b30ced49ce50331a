// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of a mask's region to text. What the front end makes of that text has the same verdicts
// on tiles.
#include "compiler/kernels/MaskFormula.h"

#include "compiler/kernels/AssumedSizes.h"
#include "dialect/Locations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attn;

namespace {

/// How tightly an operator binds its operands, from the loosest on.
enum class Binding { Choice, Or, And, Not, Comparison, Sum, Product, Sign, Power, Name };

/// An expression.
struct Text {
  std::string text;
  Binding binding = Binding::Name;
};

class MaskWriter {
public:
  explicit MaskWriter(AttentionKernelOp op)
      : op(op), block(op.getMask().front()),
        names(block.getArguments().take_front(op.getBatch() + 2)) {}

  std::optional<llvm::json::Object> write();

private:
  void findNames();
  std::optional<SizePolynomial> sizeOf(Value value);
  std::string write(Value value);
  std::string within(Value value, Binding least);
  std::string list(ValueRange values);
  Text textOf(Value value);
  Text textOf(Operation *op);
  Text number(Attribute constant);
  Text binary(Operation *op, StringRef sign, Binding binding);
  Text call(StringRef function, ValueRange arguments);
  Text comparison(arith::CmpIOp op);
  Text comparison(arith::CmpFOp op);
  Text remainder(arith::RemSIOp op);
  Text element(ElementOp op);
  /// What the language has no words for.
  Text unsaid() {
    isSaid = false;
    return {};
  }
  Value row() { return names[op.getBatch()]; }

  AttentionKernelOp op;
  Block &block;
  Block::BlockArgListType names; ///< Positions: batch dims, the query, the key.
  DenseMap<Value, std::string> named;
  Value query; ///< The position of the query among all; the row itself where it is that.
  llvm::SetVector<StringRef> further; ///< Positions that are calculated of others, as far as used.
  bool isSaid = true;
};

} // namespace

/// What the spec calls a position or a tensor; empty where that is no word.
static StringRef wordOf(StringRef name) {
  bool isWord = !name.empty() && !llvm::isDigit(name.front()) &&
                llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
  return isWord ? name : StringRef();
}

static StringRef wordOf(BlockArgument argument) {
  auto name = dyn_cast<NameLoc>(argument.getLoc());
  return name ? wordOf(name.getName()) : StringRef();
}

/// The fewest digits that are read as the same number of 32 bits.
static std::string shortest(const llvm::APFloat &number) {
  constexpr double mostWhole = 0x1p24;
  if (double whole = number.convertToDouble(); number.isInteger() && std::abs(whole) <= mostWhole)
    return std::to_string(int64_t(whole));
  constexpr unsigned enough = 9;
  SmallString<24> digits;
  for (unsigned count = 1; count <= enough; ++count) {
    digits.clear();
    number.toString(digits, count, /*FormatMaxPadding=*/12, /*TruncateZero=*/true);
    if (llvm::APFloat(number.getSemantics(), digits).bitwiseIsEqual(number))
      break;
  }
  return digits.str().str();
}

/// Names of positions, and of what the front end calculated of them for the sake of a name.
void MaskWriter::findNames() {
  for (BlockArgument argument : block.getArguments())
    if (StringRef word = wordOf(argument); !word.empty())
      named[argument] = word.str();
  query = row();
  for (auto sum : block.getOps<arith::AddIOp>())
    if (StringRef word = wordOf(wordsAt(sum.getLoc())); !word.empty()) {
      named[sum] = word.str();
      if (word == "i")
        query = sum;
    }
  // Only the last is counted among all.
  for (Value sum :
       llvm::map_range(block.getOps<arith::AddIOp>(), [](auto op) { return op.getResult(); }))
    if (sum != query && named.lookup(sum) == "i")
      named.erase(sum);
  named[query] = "i";
  if (query != row())
    named[row()] = "i.row";
  named[names.back()] = "j";
}

/// A sum of products of dims and numbers; the row counts as 0.
std::optional<SizePolynomial> MaskWriter::sizeOf(Value value) {
  if (value == row())
    return SizePolynomial(0);
  if (auto inside = value.getDefiningOp(); inside && inside->getBlock() == &block) {
    auto both = [&](auto combine) -> std::optional<SizePolynomial> {
      auto a = sizeOf(inside->getOperand(0)), b = sizeOf(inside->getOperand(1));
      return a && b ? std::optional<SizePolynomial>(combine(*a, *b)) : std::nullopt;
    };
    return llvm::TypeSwitch<Operation *, std::optional<SizePolynomial>>(inside)
        .Case([&](arith::AddIOp) { return both([](auto &a, auto &b) { return a + b; }); })
        .Case([&](arith::SubIOp) { return both([](auto &a, auto &b) { return a - b; }); })
        .Case([&](arith::MulIOp) { return both([](auto &a, auto &b) { return a * b; }); })
        .Default([](Operation *) { return std::nullopt; });
  }
  bool isOutside = value.getType().isIndex() && value.getParentBlock() != &block;
  return isOutside ? AssumedSizes::polynomialOf(value) : std::nullopt;
}

std::string MaskWriter::write(Value value) { return textOf(value).text; }

/// In parentheses where operators would take it apart.
std::string MaskWriter::within(Value value, Binding least) {
  Text inner = textOf(value);
  return inner.binding < least ? "(" + inner.text + ")" : inner.text;
}

Text MaskWriter::number(Attribute constant) {
  if (auto truth = dyn_cast<BoolAttr>(constant))
    return {truth.getValue() ? "true" : "false"};
  if (auto whole = dyn_cast<IntegerAttr>(constant)) {
    int64_t number = whole.getValue().getSExtValue();
    return {std::to_string(number), number < 0 ? Binding::Sign : Binding::Name};
  }
  auto real = dyn_cast<FloatAttr>(constant);
  if (!real || real.getValue().isNaN())
    return unsaid();
  Binding binding = real.getValue().isNegative() ? Binding::Sign : Binding::Name;
  if (real.getValue().isInfinity())
    return {real.getValue().isNegative() ? "-inf" : "inf", binding};
  return {shortest(real.getValue()), binding};
}

/// Operands on the right bind more tightly, a - (b - c), where it is not the same without
/// parentheses.
Text MaskWriter::binary(Operation *operation, StringRef sign, Binding binding) {
  auto tighter = Binding(int(binding) + 1);
  bool isComparison = binding == Binding::Comparison,
       isAssociative = isa<arith::AddIOp, arith::MulIOp, arith::AndIOp, arith::OrIOp>(operation);
  std::string left = within(operation->getOperand(0), isComparison ? tighter : binding),
              right = within(operation->getOperand(1), isAssociative ? binding : tighter);
  return {(left + " " + sign + " " + right).str(), binding};
}

std::string MaskWriter::list(ValueRange values) {
  SmallVector<std::string> texts;
  for (Value value : values)
    texts.push_back(write(value));
  return llvm::join(texts, ", ");
}

Text MaskWriter::call(StringRef function, ValueRange arguments) {
  return {(function + "(" + list(arguments) + ")").str()};
}

Text MaskWriter::comparison(arith::CmpIOp op) {
  using P = arith::CmpIPredicate;
  bool areTruths = op.getLhs().getType().isInteger(1);
  StringRef sign = op.getPredicate() == P::eq    ? "=="
                   : op.getPredicate() == P::ne  ? "!="
                   : op.getPredicate() == P::slt ? "<"
                   : op.getPredicate() == P::sle ? "<="
                   : op.getPredicate() == P::sgt ? ">"
                   : op.getPredicate() == P::sge ? ">="
                                                 : "";
  return sign.empty() || areTruths ? unsaid() : binary(op, sign, Binding::Comparison);
}

/// The sign of a comparison of floats; empty where the language has none.
static StringRef signOf(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  return predicate == P::OEQ   ? "=="
         : predicate == P::UNE ? "!="
         : predicate == P::OLT ? "<"
         : predicate == P::OLE ? "<="
         : predicate == P::OGT ? ">"
         : predicate == P::OGE ? ">="
                               : "";
}

/// That of the comparison which holds where this one, which NaN passes, does not.
static StringRef oppositeOf(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  return predicate == P::ULT   ? ">="
         : predicate == P::ULE ? ">"
         : predicate == P::UGT ? "<="
         : predicate == P::UGE ? "<"
                               : "";
}

Text MaskWriter::comparison(arith::CmpFOp op) {
  if (StringRef sign = signOf(op.getPredicate()); !sign.empty())
    return binary(op, sign, Binding::Comparison);
  StringRef opposite = oppositeOf(op.getPredicate());
  if (opposite.empty())
    return unsaid();
  return {"not (" + binary(op, opposite, Binding::Comparison).text + ")", Binding::Not};
}

/// `%`, which rounds down, is rem(rem(a, n) + n, n), or rem(a, n) where `a` is never negative.
Text MaskWriter::remainder(arith::RemSIOp op) {
  APInt divisor;
  if (!matchPattern(op.getRhs(), m_ConstantInt(&divisor)) || !divisor.isStrictlyPositive())
    return unsaid();
  Value dividend = op.getLhs();
  if (auto sum = dividend.getDefiningOp<arith::AddIOp>(); sum && sum.getRhs() == op.getRhs())
    if (auto inner = sum.getLhs().getDefiningOp<arith::RemSIOp>();
        inner && inner.getRhs() == op.getRhs())
      dividend = inner.getLhs();
  return {within(dividend, Binding::Product) + " % " + within(op.getRhs(), Binding::Sign),
          Binding::Product};
}

Text MaskWriter::element(ElementOp op) {
  auto tensor = dyn_cast<BlockArgument>(op.getTensor());
  StringRef name = tensor ? wordOf(tensor) : StringRef();
  return name.empty() ? unsaid() : Text{(name + "[" + list(op.getPositions()) + "]").str()};
}

Text MaskWriter::textOf(Operation *op) {
  ValueRange operands = op->getOperands();
  bool isTruth = op->getNumResults() == 1 && op->getResult(0).getType().isInteger(1);
  return llvm::TypeSwitch<Operation *, Text>(op)
      .Case<arith::AddIOp, arith::AddFOp>([&](auto) { return binary(op, "+", Binding::Sum); })
      .Case<arith::SubIOp, arith::SubFOp>([&](auto) {
        if (matchPattern(operands[0], m_Zero()))
          return Text{"-" + within(operands[1], Binding::Sign), Binding::Sign};
        return binary(op, "-", Binding::Sum);
      })
      .Case<arith::MulIOp, arith::MulFOp>([&](auto) { return binary(op, "*", Binding::Product); })
      .Case([&](arith::DivFOp) { return binary(op, "/", Binding::Product); })
      .Case([&](arith::RemSIOp rest) { return remainder(rest); })
      .Case<arith::MinSIOp, arith::MinimumFOp>([&](auto) { return call("min", operands); })
      .Case<arith::MaxSIOp, arith::MaximumFOp>([&](auto) { return call("max", operands); })
      .Case<math::AbsIOp, math::AbsFOp>([&](auto) { return call("abs", operands); })
      .Case<math::FloorOp, math::SqrtOp, math::RsqrtOp, math::ExpOp, math::LogOp, math::SinOp,
            math::CosOp, math::TanhOp>(
          [&](auto) { return call(op->getName().stripDialect(), operands); })
      .Case([&](math::Exp2Op) {
        return Text{"2 ** " + within(operands[0], Binding::Power), Binding::Power};
      })
      .Case([&](arith::NegFOp) {
        return Text{"-" + within(operands[0], Binding::Sign), Binding::Sign};
      })
      // Numbers change their types alone: what is cut off has no fraction.
      .Case<arith::IndexCastOp, arith::SIToFPOp, arith::FPToSIOp, arith::ExtSIOp, arith::TruncIOp>(
          [&](auto) { return isTruth ? unsaid() : textOf(operands[0]); })
      .Case<arith::CmpIOp, arith::CmpFOp>([&](auto compared) { return comparison(compared); })
      .Case([&](arith::AndIOp) { return isTruth ? binary(op, "and", Binding::And) : unsaid(); })
      .Case([&](arith::OrIOp) { return isTruth ? binary(op, "or", Binding::Or) : unsaid(); })
      .Case([&](arith::XOrIOp) {
        return isTruth && matchPattern(operands[1], m_One())
                   ? Text{"not " + within(operands[0], Binding::Name), Binding::Not}
                   : unsaid();
      })
      .Case([&](arith::SelectOp) {
        return Text{"if " + write(operands[0]) + " then " + write(operands[1]) + " else " +
                        write(operands[2]),
                    Binding::Choice};
      })
      .Case([&](ElementOp read) { return element(read); })
      .Default([&](Operation *) { return unsaid(); });
}

Text MaskWriter::textOf(Value value) {
  if (auto known = named.find(value); known != named.end()) {
    if (value.getDefiningOp() && value != query)
      further.insert(known->second);
    return {known->second};
  }
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return number(constant);
  bool isOfRow = false;
  if (std::optional<SizePolynomial> size = sizeOf(value)) {
    llvm::SmallVector<Value> open{value};
    while (!open.empty()) { // whether it is the same for all pairs
      Value next = open.pop_back_val();
      isOfRow |= next == row();
      if (Operation *inside = next.getDefiningOp(); inside && inside->getBlock() == &block)
        llvm::append_range(open, inside->getOperands());
    }
    if (!isOfRow)
      return {size->text(), wordOf(size->text()).empty() ? Binding::Sum : Binding::Name};
  }
  Operation *inside = value.getDefiningOp();
  return inside && inside->getBlock() == &block ? textOf(inside) : unsaid();
}

/// How many rows a buffer has, in dims, or as it is assumed.
static std::optional<std::string> rowsOf(Value buffer, int64_t axis) {
  int64_t known = cast<MemRefType>(buffer.getType()).getDimSize(unsigned(axis));
  if (!ShapedType::isDynamic(known))
    return std::to_string(known);
  if (auto view = buffer.getDefiningOp<memref::ReinterpretCastOp>())
    if (auto size = dyn_cast<Value>(view.getMixedSizes()[size_t(axis)]))
      if (std::optional<SizePolynomial> polynomial = AssumedSizes::polynomialOf(size))
        return polynomial->text();
  std::optional<int64_t> assumed = AssumedSizes::product(buffer, axis, axis + 1);
  return assumed ? std::optional(std::to_string(*assumed)) : std::nullopt;
}

std::optional<llvm::json::Object> MaskWriter::write() {
  findNames();
  std::string mask = write(cast<YieldOp>(block.getTerminator()).getValue());
  std::optional<SizePolynomial> offset = sizeOf(query);
  int64_t axis = op.getBatch();
  auto queries = rowsOf(op.getOut(), axis), keys = rowsOf(op.getKey(), axis);
  if (!isSaid || !offset || !queries || !keys)
    return std::nullopt;
  llvm::json::Array positions;
  for (Value batch : names.drop_back(2)) {
    StringRef name = wordOf(cast<BlockArgument>(batch));
    if (name == "i") // rows are heads of a group
      return std::nullopt;
    if (!name.empty())
      positions.push_back(name.str());
  }
  for (StringRef name : further)
    positions.push_back(name.str());
  positions.push_back("i"), positions.push_back("j");
  llvm::json::Object formula{{"mask", std::move(mask)},
                             {"queries", *queries},
                             {"keys", *keys},
                             {"positions", std::move(positions)}};
  if (!(*offset == SizePolynomial(0)))
    formula["query_offset"] = offset->text();
  return formula;
}

std::optional<llvm::json::Object> attn::maskFormula(AttentionKernelOp op) {
  if (op.getMask().empty())
    return std::nullopt;
  return MaskWriter(op).write();
}
