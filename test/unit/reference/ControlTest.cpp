// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters, calls, loops over layers, dims, the observer, and errors.
#include "TestSupport.h"

using namespace attn::reference;
using namespace attn::reference::test;

/// Three layers of x = x * w[layer] + shared, each from its own place in a [layers, 2] pair of
/// checkpoint tensors.
static const char *stack = R"(
#d = #attn.axes<"B", "D">
attn.dim @B dyn 4
attn.param @w : tensor<2xf32, #attn.axes<"D">> from #attn.source<"b.{n}.w", [2, 2], offset = 1, strides = [2]> layers 3
attn.param @shared : tensor<2xf32, #attn.axes<"D">> from #attn.source<"shared", [2], offset = 1, strides = [-1]>
func.func @block(%layer: index, %x: tensor<?x2xf32, #d>) -> tensor<?x2xf32, #d> {
  %w = attn.get @w[%layer] : tensor<2xf32, #attn.axes<"D">>
  %s = attn.get @shared : tensor<2xf32, #attn.axes<"D">>
  %y = attn.map(%x, %w, %s) : (tensor<?x2xf32, #d>, tensor<2xf32, #attn.axes<"D">>, tensor<2xf32, #attn.axes<"D">>) -> tensor<?x2xf32, #d> {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %m, %c : f32
    attn.yield %r : f32
  } loc("scaled"("model.attn":3:7))
  return %y : tensor<?x2xf32, #d>
}
func.func @f(%x: tensor<?x2xf32, #d>) -> tensor<?x2xf32, #d> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %layers = arith.constant 3 : index
  %y = scf.for %n = %zero to %layers step %one iter_args(%c = %x) -> (tensor<?x2xf32, #d>) {
    %r = func.call @block(%n, %c) : (index, tensor<?x2xf32, #d>) -> tensor<?x2xf32, #d>
    scf.yield %r : tensor<?x2xf32, #d>
  }
  return %y : tensor<?x2xf32, #d>
}
)";

static Checkpoint stackWeights() {
  return {{"b.0.w", tensor({2, 2}, {9, 2, 9, 3})},
          {"b.1.w", tensor({2, 2}, {9, 4, 9, 5})},
          {"b.2.w", tensor({2, 2}, {9, 6, 9, 7})},
          {"shared", tensor({2}, {100, 10})}};
}

TEST(Control, stack_reads_each_layers_parameters) {
  // First column: ((1 * 2 + 10) * 4 + 10) * 6 + 10; second: ((1 * 3 + 100) * 5 + 100) * 7 + 100.
  Tensor y = runOne(stack, {tensor({1, 2}, {1, 1})}, stackWeights());
  expectNear(y, tensor({1, 2}, {358, 4405}), 0);
  EXPECT_EQ(runOne(stack, {zeros({3, 2})}, stackWeights()).shape[0], 3);
}

TEST(Control, observer_sees_named_values_with_their_layer) {
  std::vector<std::string> names;
  std::vector<double> firsts;
  auto observe = [&](llvm::StringRef name, llvm::ArrayRef<int64_t> layers, const Tensor &value) {
    EXPECT_EQ(layers.size(), 1u);
    names.push_back(name.str() + std::to_string(layers[0]));
    firsts.push_back(value.data[0]);
  };
  EXPECT_EQ(run(stack, {tensor({1, 2}, {1, 1})}, stackWeights(), observe).error, "");
  EXPECT_EQ(names, (std::vector<std::string>{"scaled0", "scaled1", "scaled2"}));
  EXPECT_EQ(firsts, (std::vector<double>{12, 58, 358}));
}

static void expectError(const Outcome &outcome, const std::string &part) {
  EXPECT_NE(outcome.error.find(part), std::string::npos) << "got: " << outcome.error;
}

TEST(Control, missing_parameter_is_an_error_with_its_expanded_name) {
  Checkpoint weights = stackWeights();
  weights.erase("b.1.w");
  expectError(run(stack, {zeros({1, 2})}, weights), "no tensor 'b.1.w'");
}

TEST(Control, parameter_of_another_size_is_an_error) {
  Checkpoint weights = stackWeights();
  weights["shared"] = tensor({1}, {1});
  expectError(run(stack, {zeros({1, 2})}, weights), "expected 2 elements of 'shared', but got 1");
}

TEST(Control, inputs_that_do_not_fit_are_errors) {
  expectError(run(stack, {}, stackWeights()), "expected 1 inputs, but got 0");
  expectError(run(stack, {zeros({2})}, stackWeights()), "expected an input of rank 2, but got 1");
  expectError(run(stack, {zeros({1, 3})}, stackWeights()), "expected size 2 along 'D', but got 3");
}

/// Two inputs share B; sizes that disagree are found before anything runs.
TEST(Control, dims_that_disagree_are_errors) {
  auto a = type({-1}, {"B"}), b = type({-1}, {"2*B + 1"});
  std::string text = function({a, b}, a, "attn.relabel %0 : " + a + " -> " + a);
  EXPECT_EQ(run(text, {zeros({3}), zeros({7})}).error, "");
  expectError(run(text, {zeros({3}), zeros({8})}), "expected size 7 along '2*B + 1', but got 8");
}

TEST(Control, unknown_entry_is_an_error) {
  expectError(run("func.func @g() { return }", {}), "expected an entry 'f'");
}

TEST(Control, unknown_op_is_an_error_that_names_it) {
  auto t = type({1}, {"D"});
  expectError(run(function({t}, t, "arith.addf %0, %0 : " + t), {zeros({1})}), "arith.addf");
}
