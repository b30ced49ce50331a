// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestSupport.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"

using namespace attn::reference;

Tensor test::tensor(Shape shape, std::vector<double> data) {
  EXPECT_EQ(countOf(shape), static_cast<int64_t>(data.size()));
  return {llvm::to_vector(shape), std::move(data)};
}

Tensor test::Draw::operator()(Shape shape) {
  Tensor result = zeros(shape);
  for (double &x : result.data)
    x = static_cast<double>(engine()) / engine.max() * 4 - 2;
  return result;
}

int64_t test::Draw::size(std::vector<int64_t> choices) {
  return choices[engine() % choices.size()];
}

test::Outcome test::run(const std::string &text, std::vector<Tensor> inputs,
                        const Checkpoint &checkpoint, Observer observe) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<attn::AttnDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                      mlir::math::MathDialect, mlir::scf::SCFDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "not a module:\n" << text;
    return {};
  }
  auto load = [&](llvm::StringRef name,
                  llvm::ArrayRef<int64_t>) -> llvm::Expected<std::vector<double>> {
    auto found = checkpoint.find(name.str());
    if (found == checkpoint.end())
      return llvm::createStringError("no tensor '" + name + "'");
    return found->second.data;
  };
  Caches caches;
  auto outputs = interpret(*module, "f", inputs, load, caches, observe);
  if (!outputs)
    return {{}, llvm::toString(outputs.takeError())};
  return {std::move(*outputs), ""};
}

Tensor test::runOne(const std::string &text, std::vector<Tensor> inputs,
                    const Checkpoint &checkpoint) {
  Outcome outcome = run(text, std::move(inputs), checkpoint);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.outputs.size(), 1u) << text;
  return outcome.outputs.size() == 1 ? outcome.outputs[0] : Tensor();
}

std::string test::type(Shape shape, std::vector<std::string> axes, std::string element) {
  std::string text = "tensor<", names;
  for (size_t d = 0; d < shape.size(); ++d) {
    text += (shape[d] < 0 ? "?" : std::to_string(shape[d])) + "x";
    names += (d ? ", \"" : "\"") + axes[d] + "\"";
  }
  return text + element + ", #attn.axes<" + names + ">>";
}

std::string test::function(std::vector<std::string> arguments, std::string result, std::string op) {
  std::string text = "func.func @f(";
  for (size_t i = 0; i < arguments.size(); ++i)
    text += (i ? ", %" : "%") + std::to_string(i) + ": " + arguments[i];
  return text + ") -> " + result + " {\n  %r = " + op + "\n  return %r : " + result + "\n}\n";
}

void test::expectNear(const Tensor &actual, const Tensor &expected, double bound) {
  ASSERT_EQ(actual.shape, expected.shape);
  ASSERT_EQ(actual.data.size(), expected.data.size());
  for (size_t i = 0; i < actual.data.size(); ++i)
    EXPECT_NEAR(actual.data[i], expected.data[i], bound) << "element " << i;
}
