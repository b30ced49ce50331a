// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention kernels against plain loops in double precision. Query, key and value are columns of
// one packed buffer where there are as many queries as keys, as packed projections leave them.
#include "test/unit/cpu/KernelRunner.h"

#include "compiler/cpu/CpuTarget.h"
#include "compiler/transforms/AttentionShape.h"
#include "compiler/transforms/FewQueries.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace attn::test {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

struct Case {
  int64_t batch = 1, heads = 2, queries, keys, features, valueFeatures;
  bool dynamic = false; ///< queries and keys are known at run time
  bool packed = true;   ///< all in one buffer [batch, rows, (q, k, v) x heads x features]
  const char *score = "%c = arith.constant 0.125 : f32\n %s = arith.mulf %d, %c : f32";
  double (*function)(double) = [](double dot) { return dot * 0.125; };
  const char *hooks = ""; ///< a bias and a mask, as text
  double (*bias)(double, int64_t h, int64_t i, int64_t j) = nullptr;
  bool (*mask)(int64_t h, int64_t i, int64_t j) = nullptr;
  std::optional<AttentionLowering> lowering = std::nullopt;
  int64_t parts = 0;    ///< that keys are divided into, combined by another kernel
  bool rounds = false;  ///< to bf16
  bool isScaled = true; ///< queries are multiplied with the score's factor before they are rounded

  int64_t rowStride(int64_t width) const {
    return packed ? heads * (2 * features + valueFeatures) : heads * width;
  }
  std::string name() const {
    return llvm::formatv("batch {0} heads {1} queries {2} keys {3} features {4} / {5}{6}{7}", batch,
                         heads, queries, keys, features, valueFeatures, dynamic ? " dynamic" : "",
                         packed ? " packed" : "");
  }
};

/// The memref of [batch, heads, rows, width] on a pointer.
std::string cast(const Case &c, llvm::StringRef name, int64_t rows, llvm::StringRef rowsName,
                 int64_t width, int64_t stride, std::string &type) {
  std::string staticRows = std::to_string(rows), staticStride = std::to_string(rows * stride);
  type = llvm::formatv("memref<{0}x{1}x{2}x{3}xf32, strided<[{4}, {3}, {5}, 1]>>", c.batch, c.heads,
                       c.dynamic ? "?" : staticRows.c_str(), width,
                       c.dynamic ? "?" : staticStride.c_str(), stride);
  return llvm::formatv(
      "%{0}Row = arith.constant {1} : index\n %{0}Batch = arith.muli %{2}, %{0}Row : index\n"
      "%{0} = memref.reinterpret_cast %{0}Base to offset: [0], sizes: [{3}, {4}, {5}, {6}], "
      "strides: [{7}, {6}, {1}, 1] : memref<f32> to {8}\n",
      name, stride, rowsName, c.batch, c.heads, c.dynamic ? ("%" + rowsName).str() : staticRows,
      width, c.dynamic ? ("%" + name + "Batch").str() : staticStride, type);
}

AttentionShape shapeOf(const Case &c) {
  return AttentionShape::of({c.dynamic ? -1 : c.queries, c.dynamic ? -1 : c.keys, c.features,
                             c.valueFeatures, c.mask == nullptr, c.mask != nullptr, c.rounds},
                            c.lowering);
}

int64_t stateFloats(const Case &c) {
  return c.queries * FewQueriesShape{16, c.valueFeatures}.stateFloats();
}

int64_t scratchFloats(const Case &c) {
  int64_t few = c.queries * FewQueriesShape::weightFloats + stateFloats(c);
  return std::max(shapeOf(c).floats, c.queries <= FewQueriesShape::mostQueries ? few : 0);
}

std::string attributes(const Case &c) {
  std::string lowering;
  if (c.lowering)
    lowering = "lowering = #attn<lowering " + stringifyAttentionLowering(*c.lowering).str() + ">";
  return "{" + lowering + (c.lowering && c.rounds ? ", " : "") + (c.rounds ? "rounds" : "") + "}";
}

/// A function on all buffers; its body is to follow.
std::string beginFunction(llvm::StringRef name) {
  return llvm::formatv(R"(
    func.func @{0}(%weights: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                   %queries: index, %keys: index, %qBase: memref<f32>, %kBase: memref<f32>, %vBase: memref<f32>,
                   %oBase: memref<f32>, %scratchBase: memref<f32>, %partialsBase: memref<f32>) {{
)",
                       name);
}

std::string module(const Case &c) {
  int64_t scratch = scratchFloats(c);
  std::string partials = llvm::formatv("memref<{0}x{1}x{2}xf32, strided<[{3}, {2}, 1]>>",
                                       c.batch * c.heads, c.parts, stateFloats(c),
                                       c.parts * stateFloats(c)),
              castPartials = llvm::formatv(
                  "%partials = memref.reinterpret_cast %partialsBase to offset: [0], sizes: [{0}, "
                  "{1}, {2}], strides: [{3}, {2}, 1] : memref<f32> to {4}\n",
                  c.batch * c.heads, c.parts, stateFloats(c), c.parts * stateFloats(c), partials);
  std::string text = beginFunction("attention"), q, k, v, o;
  text += cast(c, "q", c.queries, "queries", c.features, c.rowStride(c.features), q);
  text += cast(c, "k", c.keys, "keys", c.features, c.rowStride(c.features), k);
  text += cast(c, "v", c.keys, "keys", c.valueFeatures, c.rowStride(c.valueFeatures), v);
  text += cast(c, "o", c.queries, "queries", c.valueFeatures, c.heads * c.valueFeatures, o);
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
  text += beginFunction("combine") + castPartials;
  text += cast(c, "o", c.queries, "queries", c.valueFeatures, c.heads * c.valueFeatures, o);
  return text + "attn.combine_kernel %partials into %o : " + partials + ", " + o + "\nreturn\n}\n";
}

/// Inputs and output with guards around the output.
struct Buffers {
  explicit Buffers(const Case &c, unsigned seed) : c(c) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    qkv.resize(c.packed ? c.batch * c.queries * c.rowStride(0) : 0);
    query.resize(c.packed ? 0 : c.batch * c.queries * c.heads * c.features);
    key.resize(c.packed ? 0 : c.batch * c.keys * c.heads * c.features);
    value.resize(c.packed ? 0 : c.batch * c.keys * c.heads * c.valueFeatures);
    for (auto *buffer : {&qkv, &query, &key, &value})
      for (float &x : *buffer)
        x = normal(random);
    out.assign(c.batch * c.queries * c.heads * c.valueFeatures + 2 * guard, 1234.5f);
  }
  float *q() { return c.packed ? qkv.data() : query.data(); }
  float *k() { return c.packed ? qkv.data() + c.heads * c.features : key.data(); }
  float *v() { return c.packed ? qkv.data() + 2 * c.heads * c.features : value.data(); }
  float *queryRow(int64_t b, int64_t h, int64_t m) {
    return q() + (b * c.queries + m) * c.rowStride(c.features) + h * c.features;
  }
  float *keyRow(int64_t b, int64_t h, int64_t n) {
    return k() + (b * c.keys + n) * c.rowStride(c.features) + h * c.features;
  }
  float *valueRow(int64_t b, int64_t h, int64_t n) {
    return v() + (b * c.keys + n) * c.rowStride(c.valueFeatures) + h * c.valueFeatures;
  }
  float *outRow(int64_t b, int64_t h, int64_t m) {
    return out.data() + guard + ((b * c.queries + m) * c.heads + h) * c.valueFeatures;
  }

  void run(KernelRunner &runner, int64_t threads) {
    // Nothing is read unwritten.
    std::vector<float> scratch(threads * scratchFloats(c), std::nanf("")),
        partials(c.batch * c.heads * c.parts * stateFloats(c), std::nanf(""));
    auto call = [&](llvm::StringRef name) {
      runner.run(name, threads, nullptr, nullptr, c.queries, c.keys, q(), k(), v(),
                 out.data() + guard, scratch.data(), partials.data());
    };
    call("attention");
    if (c.parts)
      call("combine");
  }

  static constexpr int64_t guard = 64;
  const Case &c;
  std::vector<float> qkv, query, key, value, out;
};

double toBfloat(double x) {
  llvm::APFloat number(static_cast<float>(x));
  bool losesInfo;
  number.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToFloat();
}

double dotOf(const Case &c, Buffers &in, int64_t b, int64_t h, int64_t m, int64_t n) {
  const float *query = in.queryRow(b, h, m), *key = in.keyRow(b, h, n);
  double dot = 0, scale = c.isScaled && !c.bias ? c.function(1) * 1.4426950408889634 : 1;
  for (int64_t e = 0; e < c.features; ++e)
    dot += c.rounds ? toBfloat(query[e] * static_cast<float>(scale)) / scale * toBfloat(key[e])
                    : double(query[e]) * key[e];
  return dot;
}

/// The weights of all keys for one query: exp(score - maximum) / sum; 0 where all scores are -inf.
std::vector<double> weightsOf(const Case &c, Buffers &in, int64_t b, int64_t h, int64_t m) {
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

class AttentionKernelTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!KernelRunner::supports(GetParam()))
      GTEST_SKIP() << "this machine is below " << GetParam();
  }

  /// Scores of magnitude 1 are right within 2^-24 times a few dozens, and so are weights, unless
  /// they are rounded; the bound is of the weighted sum of |value|.
  void check(const Case &c, Buffers &in) {
    for (int64_t b = 0; b < c.batch; ++b)
      for (int64_t h = 0; h < c.heads; ++h)
        for (int64_t m = 0; m < c.queries; ++m) {
          std::vector<double> weights = weightsOf(c, in, b, h, m);
          for (int64_t d = 0; d < c.valueFeatures; ++d) {
            double expected = 0, magnitude = 0;
            for (int64_t n = 0; n < c.keys; ++n) {
              double value = in.valueRow(b, h, n)[d];
              if (c.rounds)
                value = toBfloat(value);
              double term = weights[n] == 0 ? 0 : weights[n] * value;
              expected += term, magnitude += std::fabs(term);
            }
            double bound = (c.rounds ? 0x1p-8 : 1e-5) * magnitude + 1e-30;
            ASSERT_NEAR(in.outRow(b, h, m)[d], expected, bound)
                << c.name() << ", at batch " << b << " head " << h << " query " << m << " feature "
                << d;
          }
        }
    for (int64_t i = 0; i < Buffers::guard; ++i)
      ASSERT_TRUE(in.out[i] == 1234.5f && in.out[in.out.size() - 1 - i] == 1234.5f)
          << c.name() << ": written outside";
  }

  /// Levels that multiply pairs of bf16 are tested with these.
  Case atLevel(Case c) {
    auto target = CpuTarget::of(GetParam()); // none of a GPU
    c.rounds = target && target->multipliesPairs() &&
               (c.dynamic || c.queries > FewQueriesShape::mostQueries);
    return c;
  }

  void runCase(const Case &wanted) {
    Case c = atLevel(wanted);
    auto runner = KernelRunner::create(module(c), GetParam());
    ASSERT_TRUE(runner) << c.name();
    Buffers alone(c, 7), team(c, 7);
    alone.run(*runner, 1);
    check(c, alone);
    team.run(*runner, 3);
    EXPECT_EQ(alone.out, team.out) << c.name() << ": three threads differ from one";
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, AttentionKernelTest,
                         testing::Values("x86-64-v3", "x86-64-v4", "avx512bf16", "amx-emulated",
                                         "amx", "sm_80"));

Case shape(int64_t rows, int64_t features) { return Case{1, 2, rows, rows, features, features}; }

Case cross(int64_t queries, int64_t keys, int64_t features, int64_t valueFeatures) {
  Case c{2, 2, queries, keys, features, valueFeatures};
  c.packed = false;
  return c;
}

TEST_P(AttentionKernelTest, OneOfEach) { runCase(cross(1, 1, 1, 1)); }
TEST_P(AttentionKernelTest, OneQuery) { runCase(cross(1, 37, 64, 64)); }
TEST_P(AttentionKernelTest, OneKey) { runCase(cross(13, 1, 64, 5)); }
TEST_P(AttentionKernelTest, OddFeatures) { runCase(cross(17, 5, 5, 17)); }
TEST_P(AttentionKernelTest, FeaturesOf48And80) { runCase(cross(53, 101, 48, 80)); }
TEST_P(AttentionKernelTest, FeaturesOf80And48) { runCase(cross(48, 61, 80, 48)); }
TEST_P(AttentionKernelTest, FeaturesOf192) { runCase(shape(37, 192)); }
TEST_P(AttentionKernelTest, PatchesOfAnImage) { runCase(shape(197, 64)); }
TEST_P(AttentionKernelTest, FewPatches) { runCase(shape(17, 16)); }
TEST_P(AttentionKernelTest, PatchesOfALargeImage) { runCase(shape(577, 24)); }
TEST_P(AttentionKernelTest, ManyKeys) { runCase(cross(5, 1537, 16, 20)); }

/// Several blocks in a group, several groups in a head, groups that end within a head.
TEST_P(AttentionKernelTest, Lowerings) {
  for (auto lowering :
       {AttentionLowering::Strip, AttentionLowering::Online, AttentionLowering::Unfused})
    for (Case c : {cross(500, 70, 12, 20), cross(101, 150, 20, 8)}) {
      c.lowering = lowering;
      runCase(c);
    }
}

TEST_P(AttentionKernelTest, SizesKnownAtRunTime) {
  Case c = cross(1, 1, 24, 40);
  c.dynamic = true, c = atLevel(c);
  auto runner = KernelRunner::create(module(c), GetParam());
  ASSERT_TRUE(runner);
  for (auto [queries, keys] : {std::pair{1, 1}, {7, 64}, {16, 65}, {53, 129}, {100, 263}}) {
    c.queries = queries, c.keys = keys;
    Buffers in(c, queries);
    in.run(*runner, 2);
    check(c, in);
  }
}

TEST_P(AttentionKernelTest, RandomShapes) {
  std::mt19937 random(20);
  auto upTo = [&](int64_t most) { return 1 + int64_t(random() % most); };
  for (int i = 0; i < 6; ++i)
    runCase(cross(upTo(120), upTo(220), upTo(70), upTo(100)));
}

TEST_P(AttentionKernelTest, OtherFunctionOfTheInnerProduct) {
  Case c = shape(29, 9);
  c.score = "%h = arith.constant 0.5 : f32\n %x = arith.mulf %d, %h : f32\n"
            "%s = arith.minimumf %x, %h : f32";
  c.function = [](double dot) { return std::fmin(dot * 0.5, 0.5); };
  c.isScaled = false;
  runCase(c);
}

TEST_P(AttentionKernelTest, DivisionByARoot) {
  Case c = shape(29, 9);
  c.score = "%n = arith.constant 9.0 : f32\n %r = math.sqrt %n : f32\n"
            "%s = arith.divf %d, %r : f32";
  c.function = [](double dot) { return dot / 3; };
  runCase(c);
}

/// score + (h - 2) * |i - j| / 8, where j <= i + h.
Case causal(Case c) {
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

TEST_P(AttentionKernelTest, BiasAndMaskOfPositions) {
  runCase(causal(shape(1, 4)));
  runCase(causal(shape(37, 5)));
  runCase(causal(shape(130, 16)));
  runCase(causal(cross(61, 1100, 8, 12)));
}

TEST_P(AttentionKernelTest, BiasAndMaskOfSizesKnownAtRunTime) {
  Case c = causal(cross(1, 1, 8, 24));
  c.dynamic = true, c = atLevel(c);
  auto runner = KernelRunner::create(module(c), GetParam());
  ASSERT_TRUE(runner);
  for (auto [queries, keys] : {std::pair{1, 1}, {7, 64}, {53, 129}}) {
    c.queries = queries, c.keys = keys;
    Buffers in(c, queries);
    in.run(*runner, 2);
    check(c, in);
  }
}

/// More parts than tiles, tiles that are no multiple of the parts, parts without a live key.
TEST_P(AttentionKernelTest, KeysInParts) {
  for (auto [queries, keys, parts] :
       {std::tuple{1, 1, 3}, {4, 700, 5}, {8, 129, 2}, {3, 1024, 16}}) {
    Case c = cross(queries, keys, 20, 36);
    c.parts = parts;
    runCase(c);
    runCase(causal(c));
  }
}

/// Where floor(i / length) == floor(j / length): whole vectors of queries or not, one block or
/// several, more parts than a group has blocks.
TEST_P(AttentionKernelTest, DocumentsOfOneLength) {
  if (KernelRunner::isGpu(GetParam()))
    GTEST_SKIP() << "blocks of documents are a CPU's";
  static int64_t length; // of the case
  for (auto [size, c] : {std::pair{64, shape(192, 8)},
                         {100, shape(600, 8)},
                         {65, shape(195, 20)},
                         {128, cross(256, 300, 8, 8)},
                         {450, shape(900, 8)},
                         {90, shape(200, 8)}}) {
    length = size;
    std::string hooks = llvm::formatv(R"(mask {{
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
    c.hooks = hooks.c_str();
    c.mask = [](int64_t, int64_t i, int64_t j) { return i / length == j / length; };
    runCase(c);
  }
}

/// NaN and infinities in keys and values reach the queries that see them, and a query that sees no
/// key gets 0.
TEST_P(AttentionKernelTest, MaskedKeysCanBeAnything) {
  for (Case c : {shape(40, 20), cross(40, 1100, 20, 20)}) { // a strip, and strips
    c.hooks = R"(mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %first = arith.constant 9 : index
        %all = arith.cmpi sge, %j, %first : index
        %last = arith.constant 30 : index
        %late = arith.cmpi sge, %i, %last : index
        %seen = arith.ori %all, %late : i1
        %blind = arith.constant 20 : index
        %other = arith.cmpi ne, %i, %blind : index
        %live = arith.andi %seen, %other : i1
        attn.yield %live : i1
      })";
    c.mask = [](int64_t, int64_t i, int64_t j) { return (j >= 9 || i >= 30) && i != 20; };
    c = atLevel(c);
    auto runner = KernelRunner::create(module(c), GetParam());
    ASSERT_TRUE(runner);
    Buffers in(c, 5);
    in.keyRow(0, 0, 3)[0] = std::nanf("");
    in.valueRow(0, 0, 8)[1] = inf;
    in.valueRow(0, 1, 8)[1] = inf;
    Buffers clean = in;
    clean.keyRow(0, 0, 3)[0] = 0;
    clean.valueRow(0, 0, 8)[1] = clean.valueRow(0, 1, 8)[1] = 0;
    in.run(*runner, 1), clean.run(*runner, 1);
    // Pairs are added up in another order where a value is infinite.
    double bound = c.rounds ? 1e-5 : 0;
    for (int64_t m = 0; m < 30; ++m)
      for (int64_t d = 0; d < c.valueFeatures; ++d) {
        EXPECT_NEAR(in.outRow(0, 0, m)[d], clean.outRow(0, 0, m)[d], bound) << c.name() << m;
        EXPECT_NEAR(in.outRow(0, 1, m)[d], clean.outRow(0, 1, m)[d], bound) << c.name() << m;
      }
    EXPECT_EQ(in.outRow(0, 0, 20)[0], 0.0f);
    for (int64_t m = 30; m < c.queries; ++m) {
      EXPECT_TRUE(std::isnan(in.outRow(0, 0, m)[0])) << c.name() << m;
      EXPECT_EQ(in.outRow(0, 1, m)[1], inf) << c.name() << m;
    }
  }
}

/// Scores far from 0 neither overflow nor lose the largest.
TEST_P(AttentionKernelTest, LargeScores) {
  Case c = atLevel(shape(70, 8));
  auto runner = KernelRunner::create(module(c), GetParam());
  ASSERT_TRUE(runner);
  Buffers in(c, 3);
  for (int64_t h = 0; h < c.heads; ++h)
    for (int64_t m = 0; m < c.queries; ++m)
      for (int64_t e = 0; e < c.features; ++e) { // 16 * m: the last key wins by far
        in.queryRow(0, h, m)[e] = 16;
        in.keyRow(0, h, m)[e] = float(m);
      }
  in.run(*runner, 1);
  check(c, in);
}

TEST_P(AttentionKernelTest, InfinitiesAndNans) {
  for (Case c : {shape(21, 4), shape(150, 4)}) { // one tile of keys, and several
    c = atLevel(c);
    auto valueOf = [&](float value) { return c.rounds ? float(toBfloat(value)) : value; };
    auto runner = KernelRunner::create(module(c), GetParam());
    ASSERT_TRUE(runner);
    Buffers in(c, 5);
    // Query 3 is NaN, query 4 scores -inf everywhere, query 5 scores -inf except for key 7,
    // query 6 scores +inf for key 7.
    for (int64_t n = 0; n < c.keys; ++n)
      in.keyRow(0, 0, n)[0] = n == 7 ? 0.0f : 1.0f, in.keyRow(0, 0, n)[1] = 1.0f;
    for (int64_t n = 0; n < c.keys; ++n)
      in.keyRow(0, 0, n)[2] = n == 7 ? 1.0f : 0.0f;
    for (int64_t m : {3, 4, 5, 6})
      for (int64_t e = 0; e < c.features; ++e)
        in.queryRow(0, 0, m)[e] = 0;
    in.queryRow(0, 0, 3)[3] = std::nanf("");
    in.queryRow(0, 0, 4)[1] = -inf;
    in.queryRow(0, 0, 5)[0] = -1e30f, in.queryRow(0, 0, 5)[2] = 1;
    in.queryRow(0, 0, 6)[2] = 3e38f;
    in.run(*runner, 1);
    for (int64_t d = 0; d < c.valueFeatures; ++d) {
      EXPECT_TRUE(std::isnan(in.outRow(0, 0, 3)[d]));
      EXPECT_EQ(in.outRow(0, 0, 4)[d], 0.0f);
      EXPECT_EQ(in.outRow(0, 0, 5)[d], valueOf(in.valueRow(0, 0, 7)[d]));
      EXPECT_EQ(in.outRow(0, 0, 6)[d], valueOf(in.valueRow(0, 0, 7)[d]));
    }
    for (int64_t m : {2, 7}) // neighbours are untouched
      for (int64_t d = 0; d < c.valueFeatures; ++d)
        EXPECT_TRUE(std::isfinite(in.outRow(0, 0, m)[d]));
  }
}

} // namespace
} // namespace attn::test
