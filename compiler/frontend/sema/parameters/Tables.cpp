// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// table pos[t: T, c: D] = formula: constants, computed here in double precision.
#include "compiler/frontend/sema/parameters/Tables.h"
#include "compiler/frontend/sema/entries/CacheAxes.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"

#include "llvm/ADT/bit.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;

constexpr int64_t mostElements = int64_t(1) << 25;
constexpr double mostSteps = 1 << 30;

namespace {
using Function = double (*)(double, double, double);

/// A part of a formula: a function of its parts, an index, or a number.
struct Node {
  Function function = nullptr; ///< Null: a number or an index.
  int index = -1;              ///< Of the table's axes.
  double number = 0;
  bool isTruth = false;
  std::vector<Node> parts;

  double at(llvm::ArrayRef<int64_t> place) const;
  /// How long it takes, in additions.
  double steps() const;
  /// What tells it from others.
  void print(llvm::raw_ostream &os) const;
};

struct NamedFunction {
  llvm::StringLiteral name;
  unsigned arguments;
  Function function;
};
} // namespace

struct TableFormula {
  Node root;
};

static const NamedFunction functions[] = {
    {"sin", 1, [](double x, double, double) { return std::sin(x); }},
    {"cos", 1, [](double x, double, double) { return std::cos(x); }},
    {"exp", 1, [](double x, double, double) { return std::exp(x); }},
    {"log", 1, [](double x, double, double) { return std::log(x); }},
    {"sqrt", 1, [](double x, double, double) { return std::sqrt(x); }},
    {"rsqrt", 1, [](double x, double, double) { return 1 / std::sqrt(x); }},
    {"tanh", 1, [](double x, double, double) { return std::tanh(x); }},
    {"abs", 1, [](double x, double, double) { return std::fabs(x); }},
    {"floor", 1, [](double x, double, double) { return std::floor(x); }},
    {"min", 2, [](double x, double y, double) { return std::fmin(x, y); }},
    {"max", 2, [](double x, double y, double) { return std::fmax(x, y); }},
    {"clamp", 3, [](double x, double y, double z) { return std::fmin(std::fmax(x, y), z); }},
};

static double negate(double x, double, double) { return -x; }
static double invert(double x, double, double) { return x == 0 ? 1 : 0; }
static double choose(double c, double x, double y) { return c != 0 ? x : y; }
static double power(double x, double y, double) { return std::pow(x, y); }

/// What an operator does; null for one that has no meaning here.
static Function functionOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add:
    return [](double x, double y, double) { return x + y; };
  case BinaryOp::Subtract:
    return [](double x, double y, double) { return x - y; };
  case BinaryOp::Multiply:
    return [](double x, double y, double) { return x * y; };
  case BinaryOp::Divide:
    return [](double x, double y, double) { return x / y; };
  case BinaryOp::Remainder:
    return [](double x, double y, double) { return x - y * std::floor(x / y); };
  case BinaryOp::Power:
    return power;
  case BinaryOp::Equal:
    return [](double x, double y, double) -> double { return x == y; };
  case BinaryOp::NotEqual:
    return [](double x, double y, double) -> double { return x != y; };
  case BinaryOp::Less:
    return [](double x, double y, double) -> double { return x < y; };
  case BinaryOp::LessEqual:
    return [](double x, double y, double) -> double { return x <= y; };
  case BinaryOp::Greater:
    return [](double x, double y, double) -> double { return x > y; };
  case BinaryOp::GreaterEqual:
    return [](double x, double y, double) -> double { return x >= y; };
  case BinaryOp::And:
    return [](double x, double y, double) -> double { return x != 0 && y != 0; };
  case BinaryOp::Or:
    return [](double x, double y, double) -> double { return x != 0 || y != 0; };
  default:
    return nullptr;
  }
}

double Node::at(llvm::ArrayRef<int64_t> place) const {
  if (!function)
    return index < 0 ? number : static_cast<double>(place[index]);
  if (function == choose)
    return parts[parts[0].at(place) != 0 ? 1 : 2].at(place);
  double values[3] = {};
  for (size_t i = 0; i < parts.size(); ++i)
    values[i] = parts[i].at(place);
  return function(values[0], values[1], values[2]);
}

double Node::steps() const {
  if (function == choose)
    return 1 + parts[0].steps() + std::max(parts[1].steps(), parts[2].steps());
  bool isNamed = llvm::any_of(functions, [&](auto &known) { return known.function == function; });
  double sum = isNamed || function == power ? 16 : 1;
  for (const Node &part : parts)
    sum += part.steps();
  return sum;
}

void Node::print(llvm::raw_ostream &os) const {
  os << '(' << reinterpret_cast<uintptr_t>(function) << ' ' << index << ' '
     << llvm::bit_cast<uint64_t>(number);
  for (const Node &part : parts)
    part.print(os);
  os << ')';
}

namespace {
/// Turns an expression into nodes. What a formula may consist of is said with every error.
class TableReader {
public:
  using Report = llvm::function_ref<void(SourceRange, const llvm::Twine &)>;
  TableReader(const TableDecl &table, Report report,
              llvm::function_ref<std::optional<double>(const Expr &)> number)
      : table(table), report(report), number(number) {}

  /// A node that is, or is not, a truth value; nothing where that was reported.
  std::optional<Node> read(const Expr &expr, bool truth) {
    std::optional<Node> node = read(expr);
    if (node && node->isTruth != truth) {
      report(expr.range, truth ? "a truth value is needed here, but this is a number"
                               : "a number is needed here, but this is a truth value");
      return std::nullopt;
    }
    return node;
  }

private:
  std::optional<Node> read(const Expr &expr);
  std::optional<Node> readBinary(const BinaryExpr &binary);
  std::optional<Node> readCall(const CallExpr &call);
  std::optional<Node> combine(Function function, bool truth,
                              llvm::ArrayRef<std::pair<const Expr *, bool>> parts) {
    Node node;
    node.function = function;
    node.isTruth = truth;
    for (auto [part, isTruth] : parts) {
      std::optional<Node> read = this->read(*part, isTruth);
      if (!read)
        return std::nullopt;
      node.parts.push_back(std::move(*read));
    }
    return node;
  }

  const TableDecl &table;
  Report report;
  llvm::function_ref<std::optional<double>(const Expr &)> number;
};
} // namespace

std::optional<Node> TableReader::readBinary(const BinaryExpr &binary) {
  Function function = functionOf(binary.op);
  if (!function) {
    report(binary.opRange, "`" + spelling(binary.op) + "` has no meaning in a table");
    return std::nullopt;
  }
  bool isConnective = binary.op == BinaryOp::And || binary.op == BinaryOp::Or;
  return combine(function, precedence(binary) == 1,
                 {{binary.left.get(), isConnective}, {binary.right.get(), isConnective}});
}

std::optional<Node> TableReader::readCall(const CallExpr &call) {
  auto *callee = llvm::dyn_cast<PathExpr>(call.callee.get());
  std::string name = callee ? callee->path.str() : "";
  auto *known = llvm::find_if(functions, [&](auto &function) { return function.name == name; });
  if (known == std::end(functions)) {
    report(call.callee->range, "a table has no function `" + name + "`");
    return std::nullopt;
  }
  llvm::SmallVector<std::pair<const Expr *, bool>> parts;
  for (const Argument &argument : call.arguments)
    if (argument.isPlain())
      parts.push_back({argument.value.get(), false});
  if (parts.size() != known->arguments || call.arguments.size() != known->arguments) {
    report(call.range, "`" + name + "` takes " + llvm::Twine(known->arguments) +
                           (known->arguments == 1 ? " number" : " numbers"));
    return std::nullopt;
  }
  return combine(known->function, false, parts);
}

std::optional<Node> TableReader::read(const Expr &expr) {
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(&expr); binary && binary->op != BinaryOp::Coalesce)
    return readBinary(*binary);
  if (auto *call = llvm::dyn_cast<CallExpr>(&expr))
    return readCall(*call);
  if (auto *unary = llvm::dyn_cast<UnaryExpr>(&expr)) {
    bool isNot = unary->op == UnaryOp::Not;
    return combine(isNot ? invert : negate, isNot, {{unary->operand.get(), isNot}});
  }
  if (auto *choice = llvm::dyn_cast<IfExpr>(&expr))
    return combine(choose, false,
                   {{choice->condition.get(), true},
                    {choice->thenValue.get(), false},
                    {choice->elseValue.get(), false}});
  Node node;
  if (auto *path = llvm::dyn_cast<PathExpr>(&expr))
    for (size_t i = 0; i < table.axes.size(); ++i)
      if (table.axes[i].name.text == path->path.str()) {
        node.index = static_cast<int>(i);
        return node;
      }
  std::optional<double> value = number(expr);
  if (!value)
    return std::nullopt;
  node.number = *value;
  return node;
}

void setUpTable(Sema &sema, Decl &decl) {
  auto &table = *llvm::cast<TableDecl>(decl.item);
  decl.wrong = true;
  std::set<std::string> names;
  for (const DimArgument &index : table.axes) {
    std::optional<Axis> axis = axisOf(sema, *index.value);
    if (!axis)
      return;
    if (!names.insert(index.name.text).second) {
      sema.report.error(DiagCode::DuplicateName, index.name.range,
                        "the table has two indices `" + index.name.text + "`");
      return;
    }
    if (findAxis(decl.to, axis->name) >= 0) {
      sema.report.error(DiagCode::DuplicateAxis, index.value->range,
                        "the axis `" + axis->name + "` appears twice");
      return;
    }
    decl.to.push_back(*axis);
  }
  auto report = [&](SourceRange range, const llvm::Twine &message) {
    sema.report.error(DiagCode::TableFormula, range, message)
        .note("a table consists of its indices, numbers, dims, `+ - * / % **`, sin, cos, exp, log, "
              "sqrt, rsqrt, tanh, abs, floor, min, max, and `if … then … else …`");
  };
  auto number = [&](const Expr &expr) { return evalNumber(sema, expr, "a part of a table"); };
  std::optional<Node> root = TableReader(table, report, number).read(*table.value, /*truth=*/false);
  if (!root)
    return;
  decl.formula = std::make_shared<TableFormula>(TableFormula{std::move(*root)});
  decl.wrong = false;
}

llvm::ArrayRef<mlir::Attribute>
constantsOf(Sema &sema, llvm::ArrayRef<Axis> axes, int64_t count, llvm::StringRef key,
            SourceRange range, llvm::function_ref<Constants(llvm::ArrayRef<int64_t>)> compute) {
  llvm::SmallVector<int64_t> shape;
  std::string text = key.str();
  for (const Axis &axis : axes) {
    shape.push_back(boundOf(sema, axis));
    text += " " + std::to_string(shape.back());
  }
  if (auto known = sema.tables.constants.find(text); known != sema.tables.constants.end())
    return known->second;
  std::optional<int64_t> elements = productOf(shape);
  if (!elements || *elements * count > mostElements - sema.tables.elements) {
    bool isAlone = !elements || *elements * count > mostElements;
    Diagnostic &diagnostic = sema.report.error(
        DiagCode::SizeOverflow, range,
        (isAlone ? "a table of " + showAxes(axes) + " is too large"
                 : "the tables of this model are too large with " + showAxes(axes) + " more"));
    diagnostic.note("tables, also those of `positions`, `rotary` and `resize`, go up to the bounds "
                    "of their axes; those of a model have at most 2^25 elements together");
    if (std::string where = whereSizes(sema, axes); !where.empty())
      diagnostic.note(where);
    return {};
  }
  sema.tables.elements += *elements * count;
  return sema.tables.constants[text] = compute(shape);
}

mlir::Value makeTable(Sema &sema, llvm::ArrayRef<Axis> axes, mlir::Attribute elements,
                      mlir::Location loc) {
  mlir::Type element = TableOp::typeOfElements(elements).getElementType();
  return TableOp::create(sema.builder, loc, tensorType(sema, axes, {}, element), elements);
}

SemaValue tableValue(Sema &sema, Decl &decl, SourceRange range) {
  if (decl.wrong)
    return SemaValue::wrong();
  // Along the positions that an entry adds to its cache, a table counts as `positions` does: it is
  // made for all positions in the cache, of which the last are taken.
  Axes axes = decl.to;
  const Axis *added = nullptr;
  if (!sema.report.unapplied)
    for (auto [axis, declared] : llvm::zip_equal(axes, decl.to))
      if (isNewAxis(sema, declared)) {
        added = &declared;
        axis = cacheAxis(sema.entry);
      }
  const Node &root = decl.formula->root;
  auto &table = *llvm::cast<TableDecl>(decl.item);
  auto compute = [&](llvm::ArrayRef<int64_t> shape) -> Constants {
    int64_t count = *productOf(shape);
    sema.tables.steps += root.steps() * static_cast<double>(count);
    if (sema.tables.steps > mostSteps) {
      sema.report
          .error(DiagCode::SizeOverflow, decl.range,
                 "the tables of this model take too long to compute")
          .note("their elements times the operations of their formulas are at most 2^30, where "
                "`**` and each function counts as 16");
      return {};
    }
    std::vector<float> values;
    values.reserve(count);
    llvm::SmallVector<int64_t> place(shape.size(), 0);
    for (; count > 0; --count) {
      auto value = static_cast<float>(root.at(place));
      if (!std::isfinite(value)) {
        std::string where;
        for (size_t d = 0; d < place.size(); ++d)
          where += (d ? ", " : "") + table.axes[d].name.text + " = " + std::to_string(place[d]);
        sema.report.error(DiagCode::TableFormula, table.value->range,
                          "`" + decl.name + "` is no finite number at " + where);
        return {};
      }
      values.push_back(value);
      for (size_t d = place.size(); d > 0 && ++place[d - 1] == shape[d - 1]; --d)
        place[d - 1] = 0;
    }
    return {
        mlir::DenseElementsAttr::get(mlir::RankedTensorType::get(shape, sema.builder.getF32Type()),
                                     llvm::ArrayRef<float>(values))};
  };
  std::string key = "table ";
  llvm::raw_string_ostream os(key);
  root.print(os);
  auto elements = constantsOf(sema, axes, 1, key, decl.range, compute);
  decl.wrong = elements.empty();
  if (decl.wrong)
    return SemaValue::wrong();
  mlir::Value value = makeTable(sema, axes, elements.front(), locate(sema, range, decl.name));
  return SemaValue::of(added ? newRows(sema, value, *added, range) : value);
}

} // namespace attn::frontend
