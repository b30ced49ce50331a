// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/unit/cpu/LinearCase.h"
#include <cmath>
#include <sstream>

namespace attn::test {

Layout Layout::dense(Dims sizes, int64_t pad) {
  Layout result{sizes, Dims(sizes.size())};
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    result.strides[d] = stride;
    stride = stride * sizes[d] + (d + 1 == sizes.size() ? pad : 0);
  }
  return result;
}

int64_t Layout::elements() const {
  int64_t count = 1;
  for (size_t d = 0; d < sizes.size(); ++d)
    count += (sizes[d] - 1) * strides[d];
  return count;
}

int64_t Layout::at(int64_t flat, size_t begin, size_t end) const {
  int64_t result = 0;
  for (size_t d = end; d-- > begin; flat /= sizes[d])
    result += flat % sizes[d] * strides[d];
  return result;
}

LinearCase::LinearCase(int64_t rows, int64_t k, int64_t n, Epilogue epilogue)
    : ks{k}, n(n), in(Layout::dense({rows, k})), out(Layout::dense({rows, n})), epilogue(epilogue) {
  if (epilogue == Epilogue::Residual || epilogue == Epilogue::ScaleAndShift)
    captures.push_back(out);
  if (epilogue == Epilogue::ScaleAndShift)
    captures.push_back(Layout{{rows, n}, {0, 1}});
}

static int64_t product(const Dims &sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

int64_t LinearCase::rows() const { return product(in.sizes) / depth(); }
int64_t LinearCase::depth() const { return product(ks); }

//===-- text --------------------------------------------------------------------------------===//

static std::string join(const Dims &values, const char *separator, bool firstIsM = false,
                        const char *m = "%m") {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? separator : "") + (i == 0 && firstIsM ? m : std::to_string(values[i]));
  return text;
}

static std::string typeOf(const Layout &layout, bool dynamic) {
  return "memref<" + join(layout.sizes, "x", dynamic, "?") + "xf32, strided<[" +
         join(layout.strides, ", ") + "]>>";
}

static std::string bodyOf(Epilogue epilogue) {
  switch (epilogue) {
  case Epilogue::None:
    return "";
  case Epilogue::Relu:
    return R"( {
      ^bb0(%s: f32):
        %zero = arith.constant 0.0 : f32
        %r = arith.maximumf %s, %zero : f32
        attn.yield %r : f32
      })";
  case Epilogue::Gelu:
    return R"( {
      ^bb0(%s: f32):
        %half = arith.constant 0.5 : f32
        %one = arith.constant 1.0 : f32
        %root = arith.constant 0.707106769 : f32
        %x = arith.mulf %s, %root : f32
        %e = math.erf %x : f32
        %p = arith.addf %e, %one : f32
        %h = arith.mulf %s, %half : f32
        %r = arith.mulf %h, %p : f32
        attn.yield %r : f32
      })";
  case Epilogue::Residual:
    return R"( {
      ^bb0(%s: f32, %c: f32):
        %r = arith.addf %s, %c : f32
        attn.yield %r : f32
      })";
  case Epilogue::ScaleAndShift:
    return R"( {
      ^bb0(%s: f32, %c: f32, %d: f32):
        %p = arith.mulf %s, %c : f32
        %r = arith.addf %p, %d : f32
        attn.yield %r : f32
      })";
  }
  return "";
}

std::string LinearCase::text(const std::string &name) const {
  std::ostringstream text;
  text << "func.func @" << name
       << "(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, "
          "%threads: index, %m: index, %a0: memref<f32>, %a1: memref<f32>, %a2: memref<f32>, "
          "%a3: memref<f32>, %a4: memref<f32>, %a5: memref<f32>) {\n";
  auto view = [&](const char *result, const std::string &pointer, const Layout &layout,
                  bool dynamic) {
    text << "  " << result << " = memref.reinterpret_cast " << pointer
         << " to offset: [0], sizes: [" << join(layout.sizes, ", ", dynamic) << "], strides: ["
         << join(layout.strides, ", ") << "] : memref<f32> to " << typeOf(layout, dynamic) << "\n";
  };
  Layout packed{{(n + 47) / 48 * depth() * 48}, {1}}, row{{n}, {1}};
  view("%in", "%a0", in, dynamic), view("%panels", "%a1", packed, false);
  view("%bias", "%a2", row, false), view("%out", "%a3", out, dynamic);
  std::string names, types;
  for (size_t i = 0; i < captures.size(); ++i) {
    std::string capture = "%c" + std::to_string(i);
    view(capture.c_str(), "%a" + std::to_string(4 + i), captures[i], dynamic);
    names += (i ? ", " : "") + capture;
    types += (i ? ", " : "") + typeOf(captures[i], dynamic);
  }
  text << "  attn.linear_kernel %in, %panels" << (hasBias ? " bias %bias" : "")
       << (names.empty() ? "" : " captures(" + names + ")") << " into %out contract " << ks.size()
       << " : " << typeOf(in, dynamic) << ", " << typeOf(packed, false)
       << (hasBias ? " bias " + typeOf(row, false) : "")
       << (types.empty() ? "" : " captures(" + types + ")") << " into " << typeOf(out, dynamic)
       << bodyOf(epilogue) << "\n  return\n}\n";
  return text.str();
}

//===-- operands ----------------------------------------------------------------------------===//

LinearData::LinearData(const LinearCase &test, std::mt19937 &random) : test(test) {
  std::normal_distribution<float> normal;
  auto fill = [&](std::vector<float> &values, int64_t count) {
    values.resize(count);
    for (float &value : values)
      value = normal(random);
  };
  int64_t k = test.depth();
  fill(in, test.in.elements());
  fill(panels, (test.n + 47) / 48 * k * 48);
  for (int64_t i = 0; i < int64_t(panels.size()); ++i)
    if (i / (k * 48) * 48 + i % 48 >= test.n)
      panels[i] = 0;
  fill(bias, test.n);
  out.resize(test.out.elements());
  for (size_t i = 0; i < test.captures.size(); ++i)
    fill(captures[i], test.captures[i].elements());
}

std::pair<double, double> LinearData::expected(int64_t row, int64_t column) const {
  int64_t k = test.depth();
  size_t rowDims = test.in.sizes.size() - test.ks.size();
  const float *x = in.data() + test.in.at(row, 0, rowDims);
  const float *w = panels.data() + column / 48 * k * 48 + column % 48;
  double sum = test.hasBias ? bias[column] : 0.0, magnitude = std::abs(sum);
  for (int64_t i = 0; i < k; ++i) {
    double product = double(x[test.in.at(i, rowDims, test.in.sizes.size())]) * w[i * 48];
    sum += product, magnitude += std::abs(product);
  }
  double c[2] = {0, 0};
  for (size_t i = 0; i < test.captures.size(); ++i) {
    const Layout &layout = test.captures[i];
    c[i] = captures[i][layout.at(row, 0, layout.sizes.size() - 1) + column * layout.strides.back()];
  }
  switch (test.epilogue) {
  case Epilogue::None:
    break;
  case Epilogue::Relu:
    sum = std::max(sum, 0.0);
    break;
  case Epilogue::Gelu:
    sum = 0.5 * sum * (1 + std::erf(sum * double(0.707106769f)));
    break;
  case Epilogue::Residual:
    sum += c[0], magnitude += std::abs(c[0]);
    break;
  case Epilogue::ScaleAndShift:
    sum = sum * c[0] + c[1], magnitude = magnitude * std::abs(c[0]) + std::abs(c[1]);
    break;
  }
  return {sum, magnitude};
}

} // namespace attn::test
