// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An attention kernel to test: its memory-stage text, its operands, and what it has to compute.
#pragma once

#include "compiler/transforms/AttentionShape.h"
#include "test/unit/kernels/KernelRunner.h"
#include <functional>
#include <limits>

namespace attn::test {

constexpr float inf = std::numeric_limits<float>::infinity();

struct AttentionCase {
  int64_t batch = 1, heads = 2, queries, keys, features, valueFeatures;
  bool dynamic = false;     ///< queries and keys are known at run time
  bool dynamicKeys = false; ///< these alone are
  int64_t spareKeys = 0;    ///< rows of NaN behind the keys of a batch, as caches have room for
  bool sharesKeys = false;  ///< all heads of a batch have the same keys and values
  bool packed = true;       ///< all in one buffer [batch, rows, (q, k, v) x heads x features]
  const char *score = "%c = arith.constant 0.125 : f32\n %s = arith.mulf %d, %c : f32";
  double (*function)(double) = [](double dot) { return dot * 0.125; };
  std::string hooks = ""; ///< a bias and a mask, as text
  double (*bias)(double, int64_t h, int64_t i, int64_t j) = nullptr;
  std::function<bool(int64_t h, int64_t i, int64_t j)> mask = nullptr;
  std::optional<AttentionLowering> lowering = std::nullopt;
  int64_t parts = 0;         ///< that keys are divided into, combined by another kernel
  const char *half = "bf16"; ///< or f16
  bool rounds = false;       ///< to halves
  bool isHalf = false;       ///< query, key, value and output are stored so, on GPUs
  bool isOfBits = false;     ///< as i16, the bits of bf16, on CPUs
  bool isScaled = true; ///< queries are multiplied with the score's factor before they are rounded

  int64_t rowStride(int64_t width) const {
    return packed ? heads * (2 * features + valueFeatures) : heads * width;
  }
  int64_t keyHeads() const { return sharesKeys ? 1 : heads; }
  int64_t keyStride(int64_t width) const { return packed ? rowStride(width) : keyHeads() * width; }
  int64_t keyRows() const { return keys + spareKeys; }
  const char *element() const { return isHalf ? half : isOfBits ? "i16" : "f32"; }
  bool isF16() const { return half[0] == 'f'; }
  /// To a half.
  double rounded(double x) const;
  std::string name() const;
  /// A function @attention, and one @combine where there are parts, of
  ///   (%weights, %workspace, %call, %thread, %threads, %queries, %keys: index, %q, %k, %v, %out,
  ///    %scratch, %partials: memref<f32>)
  std::string text() const;
  int64_t stateFloats() const;
  int64_t scratchFloats() const;
};

/// Inputs and output with guards around the output, as f32; `run` stores them as the case has them.
struct AttentionBuffers {
  AttentionBuffers(const AttentionCase &c, unsigned seed);

  float *q() { return c.packed ? qkv.data() : query.data(); }
  float *k() { return c.packed ? qkv.data() + c.heads * c.features : key.data(); }
  float *v() { return c.packed ? qkv.data() + 2 * c.heads * c.features : value.data(); }
  float *queryRow(int64_t b, int64_t h, int64_t m) {
    return q() + (b * c.queries + m) * c.rowStride(c.features) + h * c.features;
  }
  float *keyRow(int64_t b, int64_t h, int64_t n) {
    return k() + (b * c.keyRows() + n) * c.keyStride(c.features) + ofKey(h) * c.features;
  }
  float *valueRow(int64_t b, int64_t h, int64_t n) {
    return v() + (b * c.keyRows() + n) * c.keyStride(c.valueFeatures) + ofKey(h) * c.valueFeatures;
  }
  float *outRow(int64_t b, int64_t h, int64_t m) {
    return out.data() + guard + ((b * c.queries + m) * c.heads + h) * c.valueFeatures;
  }
  /// Whether nothing was written around the output.
  bool areGuardsWhole() const;

  void run(KernelRunner &runner, int64_t threads);

  static constexpr int64_t guard = 64;
  const AttentionCase &c;
  std::vector<float> qkv, query, key, value, out;

private:
  int64_t ofKey(int64_t head) const { return c.sharesKeys ? 0 : head; }
  /// Runs the kernel on inputs and an output of the elements that it takes.
  template <typename T>
  void runOn(KernelRunner &runner, int64_t threads, const std::vector<T> (&inputs)[4],
             std::vector<T> &out);
};

/// The weights of all keys for one query: exp(score - maximum) / sum; 0 where all scores are -inf.
std::vector<double> weightsOf(const AttentionCase &c, AttentionBuffers &in, int64_t b, int64_t h,
                              int64_t m);
/// What feature d of a query's output should be, and the sum of the magnitudes it is made of.
std::pair<double, double> expectedOf(const AttentionCase &c, AttentionBuffers &in,
                                     const std::vector<double> &weights, int64_t b, int64_t h,
                                     int64_t d);

/// Two heads of as many queries as keys, packed; two batches of two heads.
AttentionCase shape(int64_t rows, int64_t features);
AttentionCase cross(int64_t queries, int64_t keys, int64_t features, int64_t valueFeatures);
/// The case with the bias (h - 2) * |i - j| / 8 and the mask j <= i + h.
AttentionCase causal(AttentionCase c);

/// A mask as text: floor(i / length) == floor(j / length).
std::string documentsOf(int64_t length);

} // namespace attn::test
