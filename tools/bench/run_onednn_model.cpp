// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the layers of a transformer of the base size in f32 or bf16 as a chain of oneDNN's
// primitives, with random weights, as protocol.h says: layer norms, products whose weights are
// packed and whose bias, GELU and residual are their own, and attention as two batched products and
// a softmax.
//
//   run_onednn_model TOKENS THREADS f32|bf16 strided|apart
//
// Heads are read where the projection left them (strided), or brought together first (apart).
#include "protocol.h"
#include <cmath>
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;
constexpr auto f32 = Type::f32;
constexpr int64_t width = 768, heads = 12, features = width / heads, hidden = 3072, layers = 12;

struct Step {
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
};

class Chain {
public:
  Chain(int64_t tokens, Type type, bool isApart)
      : tokens(tokens), type(type), isApart(isApart), engine(dnnl::engine::kind::cpu, 0),
        stream(engine), residual(random(rows(width))), normed(rows(width), engine),
        packed(rows(3 * width), engine), attended(rows(width), engine), inner(rows(hidden), engine),
        scores(Desc({heads, tokens, tokens}, type, Tag::abc), engine) {
    for (auto &matrix : together)
      matrix = dnnl::memory(Desc({heads, tokens, features}, type, Tag::abc), engine);
    for (int64_t layer = 0; layer < layers; ++layer) {
      addNorm();
      addLinear(normed, packed, width, 3 * width, {});
      addAttention();
      addLinear(attended, residual, width, width, adding());
      addNorm();
      dnnl::post_ops gelu;
      gelu.append_eltwise(1, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
      addLinear(normed, inner, width, hidden, gelu);
      addLinear(inner, residual, hidden, width, adding());
    }
  }

  void run() {
    for (Step &step : steps)
      step.primitive.execute(stream, step.arguments);
    stream.wait();
  }

private:
  Desc rows(int64_t columns) const { return {{tokens, columns}, type, Tag::ab}; }

  dnnl::memory random(const Desc &desc, float scale = 1) {
    Desc plain(desc.dims(), f32, desc.dims().size() == 1 ? Tag::a : Tag::ab);
    dnnl::memory values(plain, engine), result(desc, engine);
    std::normal_distribution<float> normal(0, scale);
    auto *elements = static_cast<float *>(values.get_data_handle());
    for (size_t i = 0; i < plain.get_size() / sizeof(float); ++i)
      elements[i] = normal(generator);
    dnnl::reorder(values, result).execute(stream, values, result);
    stream.wait();
    return result;
  }

  static dnnl::post_ops adding() {
    dnnl::post_ops sum;
    sum.append_sum(1);
    return sum;
  }

  void addNorm() {
    dnnl::layer_normalization_forward::primitive_desc norm(
        {dnnl::prop_kind::forward_inference, rows(width), 1e-6F,
         dnnl::normalization_flags::use_scale_shift},
        engine);
    steps.push_back({dnnl::layer_normalization_forward(norm),
                     {{DNNL_ARG_SRC, residual},
                      {DNNL_ARG_SCALE_SHIFT, random(norm.weights_desc())},
                      {DNNL_ARG_DST, normed}}});
  }

  void addLinear(const dnnl::memory &from, const dnnl::memory &to, int64_t k, int64_t n,
                 const dnnl::post_ops &then) {
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(then);
    Desc bias({1, n}, f32, Tag::ab), any({k, n}, type, Tag::any);
    dnnl::matmul::primitive_desc product({rows(k), any, bias, rows(n)}, attributes, engine);
    steps.push_back(
        {dnnl::matmul(product),
         {{DNNL_ARG_SRC, from},
          {DNNL_ARG_WEIGHTS, random(product.weights_desc(), 1 / std::sqrt(static_cast<float>(k)))},
          {DNNL_ARG_BIAS, random(bias)},
          {DNNL_ARG_DST, to}}});
  }

  void addProduct(const dnnl::memory &a, const Desc &aDesc, const dnnl::memory &b,
                  const Desc &bDesc, const dnnl::memory &to, const Desc &toDesc, float scale) {
    dnnl::primitive_attr attributes;
    attributes.set_output_scales(0, {scale});
    dnnl::matmul::primitive_desc product({aDesc, bDesc, toDesc}, attributes, engine);
    auto at = [&](const dnnl::memory &memory, const Desc &desc) {
      return dnnl::memory(desc, engine, memory.get_data_handle());
    };
    steps.push_back({dnnl::matmul(product),
                     {{DNNL_ARG_SRC, at(a, aDesc)},
                      {DNNL_ARG_WEIGHTS, at(b, bDesc)},
                      {DNNL_ARG_DST, at(to, toDesc)}}});
  }

  void addAttention() {
    const Dims sizes{heads, tokens, features}, turned{heads, features, tokens};
    dnnl::memory parts[3]; // queries, keys, values
    for (int64_t i = 0; i < 3; ++i) {
      auto *first = static_cast<char *>(packed.get_data_handle()) +
                    i * width * dnnl::memory::data_type_size(type);
      parts[i] = dnnl::memory(Desc(sizes, type, Dims{features, 3 * width, 1}), engine, first);
      if (isApart) {
        steps.push_back({dnnl::reorder(parts[i], together[i]),
                         {{DNNL_ARG_FROM, parts[i]}, {DNNL_ARG_TO, together[i]}}});
        parts[i] = together[i];
      }
    }
    int64_t pitch = isApart ? features : 3 * width, next = isApart ? tokens * features : features;
    Desc keys(turned, type, Dims{next, 1, pitch});
    addProduct(parts[0], parts[0].get_desc(), parts[1], keys, scores, scores.get_desc(),
               1 / std::sqrt(static_cast<float>(features)));
    dnnl::softmax_forward::primitive_desc softmax(
        {dnnl::prop_kind::forward_inference, scores.get_desc(), 2}, engine);
    steps.push_back(
        {dnnl::softmax_forward(softmax), {{DNNL_ARG_SRC, scores}, {DNNL_ARG_DST, scores}}});
    Desc out(sizes, type, Dims{features, width, 1});
    if (!isApart)
      return addProduct(scores, scores.get_desc(), parts[2], parts[2].get_desc(), attended, out, 1);
    addProduct(scores, scores.get_desc(), parts[2], parts[2].get_desc(), together[0],
               together[0].get_desc(), 1);
    dnnl::memory place(out, engine, attended.get_data_handle());
    steps.push_back(
        {dnnl::reorder(together[0], place), {{DNNL_ARG_FROM, together[0]}, {DNNL_ARG_TO, place}}});
  }

  int64_t tokens;
  Type type;
  bool isApart;
  dnnl::engine engine;
  dnnl::stream stream;
  std::mt19937 generator{1};
  dnnl::memory residual, normed, packed, attended, inner, scores, together[3];
  std::vector<Step> steps;
};

void runChain(void *state) { static_cast<Chain *>(state)->run(); }

} // namespace

int main(int argc, char **argv) {
  if (argc != 5)
    fail("run_onednn_model", "expected TOKENS THREADS f32|bf16 strided|apart");
  omp_set_num_threads(atoi(argv[2]));
  try {
    Chain chain(atoi(argv[1]), argv[3] == std::string("f32") ? f32 : Type::bf16,
                argv[4] == std::string("apart"));
    const dnnl_version_t *version = dnnl_version();
    printf("ready version=%d.%d.%d\n", version->major, version->minor, version->patch);
    Job job = {runChain, &chain, nullptr, 0};
    return serve(&job);
  } catch (const dnnl::error &error) {
    fail("oneDNN", error.what());
  }
}
