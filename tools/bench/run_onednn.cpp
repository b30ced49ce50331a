// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a linear map in oneDNN, as protocol.h says: out[M, N] = x[M, K] * w[N, K]^T + bias[N].
//
//   run_onednn THREADS x=f32:M,K:FILE@0 w=f32:N,K:FILE@N bias=f32:N:FILE@N out=M,N
//
// Weights are brought into the layout that oneDNN asks for before anything is timed.
#include "protocol.h"
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

namespace {

struct Linear {
  dnnl::stream stream;
  dnnl::matmul matmul;
  std::unordered_map<int, dnnl::memory> arguments;
};

void runLinear(void *state) {
  Linear &linear = *static_cast<Linear *>(state);
  linear.matmul.execute(linear.stream, linear.arguments);
  linear.stream.wait();
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 6)
    fail("run_onednn", "expected THREADS x w bias out");
  omp_set_num_threads(atoi(argv[1]));
  Tensor tensors[MOST_TENSORS];
  if (readTensors(argv + 2, argc - 2, tensors) != 3)
    fail("run_onednn", "expected x, w and bias");
  auto &[x, w, bias, out] = *reinterpret_cast<Tensor(*)[4]>(tensors);
  try {
    using Tag = dnnl::memory::format_tag;
    constexpr auto f32 = dnnl::memory::data_type::f32;
    dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    int64_t m = x.sizes[0], k = x.sizes[1], n = w.sizes[0];
    dnnl::memory::desc rows({m, k}, f32, Tag::ab), result({m, n}, f32, Tag::ab),
        shift({1, n}, f32, Tag::ab), given({k, n}, f32, Tag::ba), any({k, n}, f32, Tag::any);
    dnnl::matmul::primitive_desc wanted(dnnl::matmul::desc(rows, any, shift, result), engine);
    dnnl::memory stored(given, engine, w.data), packed(wanted.weights_desc(), engine);
    dnnl::reorder(stored, packed).execute(stream, stored, packed);
    stream.wait();
    Linear linear{stream,
                  dnnl::matmul(wanted),
                  {{DNNL_ARG_SRC, dnnl::memory(rows, engine, x.data)},
                   {DNNL_ARG_WEIGHTS, packed},
                   {DNNL_ARG_BIAS, dnnl::memory(shift, engine, bias.data)},
                   {DNNL_ARG_DST, dnnl::memory(result, engine, out.data)}}};
    const dnnl_version_t *version = dnnl_version();
    printf("ready version=%d.%d.%d\n", version->major, version->minor, version->patch);
    Job job = {runLinear, &linear, static_cast<float *>(out.data), out.count};
    return serve(&job);
  } catch (const dnnl::error &error) {
    fail("oneDNN", error.what());
  }
}
