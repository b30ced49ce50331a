// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running a piece of attn IR through the interpreter, and tensors to run it on.
#pragma once

#include "compiler/reference/Interpreter.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <limits>
#include <map>
#include <random>
#include <string>

namespace attn::reference::test {

using Shape = std::vector<int64_t>;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A tensor of given elements.
Tensor tensor(Shape shape, std::vector<double> data);

/// Random tensors from a fixed seed, which a failing test prints.
class Draw {
public:
  explicit Draw(unsigned seed)
      : trace(__FILE__, __LINE__, "seed " + std::to_string(seed)), engine(seed) {}
  Tensor operator()(Shape shape);
  int64_t size(std::vector<int64_t> choices);

private:
  testing::ScopedTrace trace;
  std::mt19937 engine;
};

/// What a run gave: the outputs, or the error.
struct Outcome {
  std::vector<Tensor> outputs;
  std::string error;
};

/// Parameters by expanded name.
using Checkpoint = std::map<std::string, Tensor>;

/// Runs entry @f of a module; a parse error fails the test.
Outcome run(const std::string &text, std::vector<Tensor> inputs, const Checkpoint &checkpoint = {},
            Observer observe = nullptr);

/// The only output of a run that must succeed.
Tensor runOne(const std::string &text, std::vector<Tensor> inputs,
              const Checkpoint &checkpoint = {});

/// "tensor<2x?xf32, #attn.axes<"A", "B">>"; a negative size is dynamic.
std::string type(Shape shape, std::vector<std::string> axes, std::string element = "f32");

/// A function @f with given argument types (%0, %1, ...) and one result, whose body is one op.
std::string function(std::vector<std::string> arguments, std::string result, std::string op);

/// Same shape, and elements within `bound` of each other.
void expectNear(const Tensor &actual, const Tensor &expected, double bound);

} // namespace attn::reference::test
