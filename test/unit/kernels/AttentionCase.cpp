// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/unit/kernels/AttentionCase.h"

#include "compiler/transforms/FewQueries.h"
#include "runtime/base/Dtype.h"
#include "test/unit/kernels/Guarded.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <random>

namespace attn::test {

std::string AttentionCase::name() const {
  return llvm::formatv(
      "batch {0} heads {1} queries {2} keys {3} features {4} / {5} parts {6}{7}{8}{9}{10}", batch,
      heads, queries, keys, features, valueFeatures, parts, dynamic ? " dynamic" : "",
      packed ? " packed" : "", isHalf ? std::string(" of ") + half : "",
      sharesKeys ? " shared" : "");
}

int64_t AttentionCase::stateFloats() const {
  return queries * FewQueriesShape{16, valueFeatures}.stateFloats();
}

/// Of any level the most.
static int64_t shapeFloats(const AttentionCase &c) {
  bool areKeysKnown = !c.dynamic && !c.dynamicKeys, isMasked = c.mask != nullptr;
  auto floats = [&](bool inTiles, int64_t mostKeys) {
    return AttentionShape::of({c.dynamic ? -1 : c.queries, areKeysKnown ? c.keys : -1, c.features,
                               c.valueFeatures, mostKeys, !isMasked, isMasked,
                               /*weightsMayWait=*/true, c.rounds, inTiles},
                              c.lowering)
        .floats;
  };
  return std::max({floats(false, -1), floats(c.rounds, -1), floats(c.rounds, c.keyRows())});
}

int64_t AttentionCase::scratchFloats() const {
  int64_t few = queries * FewQueriesShape::weightFloats + stateFloats();
  return std::max(shapeFloats(*this), queries <= FewQueriesShape::mostQueries ? few : 0);
}

namespace {

/// Rows of queries, keys or what is made of them in memory.
struct RowsInMemory {
  llvm::StringRef name, count; ///< whose value is known at run time, and is:
  int64_t rows;
  bool isDynamic;
  int64_t width, stride, headStride;
  int64_t room; ///< for rows of a batch
};

} // namespace

/// The memref of [batch, heads, rows, width] on a pointer.
static std::string cast(const AttentionCase &c, const RowsInMemory &in, std::string &type) {
  std::string rows = in.isDynamic ? "?" : std::to_string(in.rows),
              value = in.isDynamic ? ("%" + in.count).str() : rows;
  // What lies densely has as many rows in memory as there are.
  bool isDense = in.room == in.rows && in.isDynamic;
  std::string batch = std::to_string(in.room * in.stride),
              batchValue = isDense ? ("%" + in.name + "Batch").str() : batch;
  llvm::StringRef element = c.element();
  type = llvm::formatv("memref<{0}x{1}x{2}x{3}x{4}, strided<[{5}, {6}, {7}, 1]>>", c.batch, c.heads,
                       rows, in.width, element, isDense ? "?" : batch, in.headStride, in.stride);
  return llvm::formatv("%{0}Row = arith.constant {1} : index\n %{0}Batch = arith.muli %{2}, "
                       "%{0}Row : index\n",
                       in.name, in.stride, in.count)
             .str() +
         llvm::formatv("%{0} = memref.reinterpret_cast %{0}Base to offset: [0], sizes: [{1}, {2}, "
                       "{3}, {4}], strides: [{5}, {6}, {7}, 1] : memref<{8}> to {9}\n",
                       in.name, c.batch, c.heads, value, in.width, batchValue, in.headStride,
                       in.stride, element, type)
             .str();
}

static std::string castQueries(const AttentionCase &c, llvm::StringRef name, int64_t width,
                               int64_t stride, std::string &type) {
  return cast(c, {name, "queries", c.queries, c.dynamic, width, stride, width, c.queries}, type);
}

static std::string castKeys(const AttentionCase &c, llvm::StringRef name, int64_t width,
                            std::string &type) {
  return cast(c,
              {name, "keys", c.keys, c.dynamic || c.dynamicKeys, width, c.keyStride(width),
               c.sharesKeys ? 0 : width, c.keyRows()},
              type);
}

static std::string attributes(const AttentionCase &c) {
  std::string lowering;
  if (c.lowering)
    lowering = "lowering = #attn<lowering " + stringifyAttentionLowering(*c.lowering).str() + ">";
  return "{" + lowering + (c.lowering && c.rounds ? ", " : "") +
         (c.rounds ? std::string("rounds = ") + c.half : "") + "}";
}

/// A function on all buffers; its body is to follow.
static std::string beginFunction(llvm::StringRef name, llvm::StringRef element) {
  return llvm::formatv(R"(
    func.func @{0}(%weights: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                   %queries: index, %keys: index, %qBase: memref<{1}>, %kBase: memref<{1}>, %vBase: memref<{1}>,
                   %oBase: memref<{1}>, %scratchBase: memref<f32>, %partialsBase: memref<f32>) {{
)",
                       name, element);
}

std::string AttentionCase::text() const {
  const AttentionCase &c = *this;
  int64_t scratch = scratchFloats();
  std::string partials =
                  llvm::formatv("memref<{0}x{1}x{2}xf32, strided<[{3}, {2}, 1]>>",
                                c.batch * c.heads, c.parts, stateFloats(), c.parts * stateFloats()),
              castPartials = llvm::formatv(
                  "%partials = memref.reinterpret_cast %partialsBase to offset: [0], sizes: [{0}, "
                  "{1}, {2}], strides: [{3}, {2}, 1] : memref<f32> to {4}\n",
                  c.batch * c.heads, c.parts, stateFloats(), c.parts * stateFloats(), partials);
  std::string text = beginFunction("attention", c.element()), q, k, v, o;
  text += castQueries(c, "q", c.features, c.rowStride(c.features), q);
  text += castKeys(c, "k", c.features, k);
  text += castKeys(c, "v", c.valueFeatures, v);
  text += castQueries(c, "o", c.valueFeatures, c.heads * c.valueFeatures, o);
  text += llvm::formatv(
      R"(
      %scratch = memref.reinterpret_cast %scratchBase to offset: [0], sizes: [%threads, {0}], strides: [{0}, 1]
        : memref<f32> to memref<?x{0}xf32, strided<[{0}, 1]>>
      {9}
      attn.attention_kernel %q over %k, %v into %o scratch %scratch {10} batch 2 {8} : {1}, {2}, {3} into {4}, memref<?x{0}xf32, strided<[{0}, 1]>> {11}
      score {{
      ^bb0(%a: tensor<{5}xf32>, %b: tensor<{5}xf32>, %pb: index, %ph: index, %pi: index, %pj: index):
        %d = attn.dot %a, %b : tensor<{5}xf32>, tensor<{5}xf32>
        {6}
        attn.yield %s : f32
      } {7}
      return
    })",
      scratch, q, k, v, o, c.features, c.score, c.hooks, attributes(c), c.parts ? castPartials : "",
      c.parts ? "partials %partials" : "", c.parts ? "partials " + partials : "");
  if (c.parts == 0)
    return text;
  text += beginFunction("combine", c.element()) + castPartials;
  text += castQueries(c, "o", c.valueFeatures, c.heads * c.valueFeatures, o);
  return text + "attn.combine_kernel %partials into %o : " + partials + ", " + o + "\nreturn\n}\n";
}

constexpr float guardValue = 1232; // a bf16 and an f16

AttentionBuffers::AttentionBuffers(const AttentionCase &c, unsigned seed) : c(c) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  qkv.resize(c.packed ? c.batch * c.queries * c.rowStride(0) : 0);
  query.resize(c.packed ? 0 : c.batch * c.queries * c.heads * c.features);
  key.resize(c.packed ? 0 : c.batch * c.keyRows() * c.keyStride(c.features));
  value.resize(c.packed ? 0 : c.batch * c.keyRows() * c.keyStride(c.valueFeatures));
  for (auto *buffer : {&qkv, &query, &key, &value})
    for (float &x : *buffer)
      x = normal(random);
  for (auto [buffer, width] : {std::pair{&key, c.features}, {&value, c.valueFeatures}})
    for (int64_t b = 0; b < c.batch && c.spareKeys; ++b)
      std::fill_n(buffer->begin() + (b * c.keyRows() + c.keys) * c.keyStride(width),
                  c.spareKeys * c.keyStride(width), std::nanf(""));
  out.assign(c.batch * c.queries * c.heads * c.valueFeatures + 2 * guard, guardValue);
}

bool AttentionBuffers::areGuardsWhole() const {
  for (int64_t i = 0; i < guard; ++i)
    if (out[i] != guardValue || out[out.size() - 1 - i] != guardValue)
      return false;
  return true;
}

template <typename T>
void AttentionBuffers::runOn(KernelRunner &runner, int64_t threads,
                             const std::vector<T> (&inputs)[4], std::vector<T> &out) {
  constexpr size_t vectorBytes = 16; // what rows of a tensor map begin at
  Guarded<T> rows(inputs[0], vectorBytes), queries(inputs[1], vectorBytes),
      keys(inputs[2], vectorBytes), values(inputs[3], vectorBytes), outs(out, vectorBytes);
  // Nothing is read unwritten.
  Guarded<float> scratch(std::vector<float>(threads * c.scratchFloats(), std::nanf("")), 64),
      partials(std::vector<float>(c.batch * c.heads * c.parts * c.stateFloats(), std::nanf("")),
               vectorBytes);
  int64_t width = c.heads * c.features;
  auto call = [&](llvm::StringRef name) {
    runner.run(name, threads, nullptr, nullptr, c.queries, c.keys,
               c.packed ? rows.begin() : queries.begin(),
               c.packed ? rows.begin() + width : keys.begin(),
               c.packed ? rows.begin() + 2 * width : values.begin(), outs.begin() + guard,
               scratch.begin(), partials.begin());
  };
  call("attention");
  if (c.parts)
    call("combine");
  out.assign(outs.begin(), outs.end());
}

void AttentionBuffers::run(KernelRunner &runner, int64_t threads) {
  if (!c.isHalf && !c.isOfBits)
    return runOn<float>(runner, threads, {qkv, query, key, value}, out);
  auto narrow = [&](std::vector<float> &wide) {
    std::vector<uint16_t> halves;
    for (float &x : wide) {
      x = float(c.rounded(x));
      halves.push_back(c.isF16() ? floatToHalf(x) : floatToBfloat(x));
    }
    return halves;
  };
  std::vector<uint16_t> outs = narrow(out);
  runOn<uint16_t>(runner, threads, {narrow(qkv), narrow(query), narrow(key), narrow(value)}, outs);
  for (size_t i = 0; i < outs.size(); ++i)
    out[i] = c.isF16() ? halfToFloat(outs[i]) : bfloatToFloat(outs[i]);
}

double AttentionCase::rounded(double x) const {
  auto wide = static_cast<float>(x);
  if (isF16())
    return static_cast<float>(static_cast<_Float16>(wide));
  // To the nearest, ties to even: what is cut off is more than half of the last bit that stays, or
  // half of it where that bit is 1. Infinities stay, and so do NaNs of few bits.
  auto bits = llvm::bit_cast<uint32_t>(wide);
  bits += 0x7fff + (bits >> 16 & 1);
  return llvm::bit_cast<float>(bits & 0xffff0000);
}

static double dotOf(const AttentionCase &c, AttentionBuffers &in, int64_t b, int64_t h, int64_t m,
                    int64_t n) {
  const float *query = in.queryRow(b, h, m), *key = in.keyRow(b, h, n);
  double dot = 0,
         scale = c.isScaled && !c.isHalf && !c.bias ? c.function(1) * 1.4426950408889634 : 1;
  for (int64_t e = 0; e < c.features; ++e)
    dot += c.rounds || c.isHalf
               ? c.rounded(query[e] * static_cast<float>(scale)) / scale * c.rounded(key[e])
               : double(query[e]) * key[e];
  return dot;
}

std::vector<double> weightsOf(const AttentionCase &c, AttentionBuffers &in, int64_t b, int64_t h,
                              int64_t m) {
  std::vector<double> weights(c.keys);
  double maximum = -inf, sum = 0;
  for (int64_t n = 0; n < c.keys; ++n) {
    weights[n] = c.function(dotOf(c, in, b, h, m, n));
    if (c.bias)
      weights[n] = c.bias(weights[n], h, m, n);
    if (c.mask && !c.mask(h, m, n))
      weights[n] = -inf;
    maximum = std::fmax(maximum, weights[n]);
  }
  bool none = maximum == -inf;
  for (double &weight : weights)
    sum += weight = std::exp(weight - (none ? 0 : maximum));
  for (double &weight : weights)
    weight = sum == 0 ? 0 : weight / sum;
  return weights;
}

std::pair<double, double> expectedOf(const AttentionCase &c, AttentionBuffers &in,
                                     const std::vector<double> &weights, int64_t b, int64_t h,
                                     int64_t d) {
  double expected = 0, magnitude = 0;
  for (int64_t n = 0; n < c.keys; ++n) {
    double value = in.valueRow(b, h, n)[d];
    if (c.rounds || c.isHalf)
      value = c.rounded(value);
    double term = weights[n] == 0 ? 0 : weights[n] * value;
    expected += term, magnitude += std::fabs(term);
  }
  return {expected, magnitude};
}

AttentionCase shape(int64_t rows, int64_t features) {
  return AttentionCase{1, 2, rows, rows, features, features};
}

AttentionCase cross(int64_t queries, int64_t keys, int64_t features, int64_t valueFeatures) {
  AttentionCase c{2, 2, queries, keys, features, valueFeatures};
  c.packed = false;
  return c;
}

AttentionCase causal(AttentionCase c) {
  c.hooks = R"(bias {
      ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
        %two = arith.constant 2 : index
        %slope = arith.subi %h, %two : index
        %difference = arith.subi %i, %j : index
        %distance = math.absi %difference : index
        %product = arith.muli %slope, %distance : index
        %whole = arith.index_cast %product : index to i32
        %number = arith.sitofp %whole : i32 to f32
        %eighth = arith.constant 0.125 : f32
        %penalty = arith.mulf %number, %eighth : f32
        %sum = arith.addf %s, %penalty : f32
        attn.yield %sum : f32
      } mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %last = arith.addi %i, %h : index
        %live = arith.cmpi sle, %j, %last : index
        attn.yield %live : i1
      })";
  c.bias = [](double score, int64_t h, int64_t i, int64_t j) {
    return score + double((h - 2) * std::abs(i - j)) / 8;
  };
  c.mask = [](int64_t h, int64_t i, int64_t j) { return j <= i + h; };
  return c;
}

std::string documentsOf(int64_t length) {
  return llvm::formatv(R"(mask {{
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %length = arith.constant {0}.0 : f32
        %wholeI = arith.index_cast %i : index to i32
        %realI = arith.sitofp %wholeI : i32 to f32
        %partI = arith.divf %realI, %length : f32
        %ofI = math.floor %partI : f32
        %wholeJ = arith.index_cast %j : index to i32
        %realJ = arith.sitofp %wholeJ : i32 to f32
        %partJ = arith.divf %realJ, %length : f32
        %ofJ = math.floor %partJ : f32
        %live = arith.cmpf oeq, %ofI, %ofJ : f32
        attn.yield %live : i1
      })",
                       length);
}

} // namespace attn::test
