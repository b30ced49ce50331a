// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cases of linears: their sizes, their kernels as text, and lists of them.
#include "test/unit/kernels/LinearCase.h"
#include "compiler/transforms/ParameterLayout.h"
#include "compiler/transforms/TargetModel.h"
#include "runtime/base/Dtype.h"
#include "test/gpu/interpreter/Numbers.h"
#include "llvm/Support/MathExtras.h"
#include <sstream>
#include <tuple>

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

int64_t LinearCase::roomFloats() const {
  if (hasGroups())
    return panelWidth * (TargetModel::tileBlockRows +
                         std::min((depth() + 63) / 64 * 64, TargetModel::byteDepth) / 4);
  return panelWidth *
         std::max(TargetModel::tileBlockRows, std::min(depth(), TargetModel::partDepth));
}

int64_t LinearCase::sharedRows() const {
  int64_t floats = (n + 47) / 48 * panelWidth * TargetModel::tileGroupRows;
  int64_t parts = TargetModel::tileParts(hasByteRows() ? depth() : 2 * depth());
  return parts > 1 ? (floats + roomFloats() - 1) / roomFloats() : 0;
}

int64_t LinearCase::rangeColumns() const { return hasOffsets() ? 2 + panelRows() / 32 : 2; }

int64_t LinearCase::panelRows() const {
  int64_t padded = panels == Panels::Int8 ? 64 : panels == Panels::F32 ? 1 : 32;
  return (depth() + padded - 1) / padded * padded;
}

//===-- text --------------------------------------------------------------------------------===//

static std::string join(const Dims &values, const char *separator, bool firstIsM = false,
                        const char *m = "%m") {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? separator : "") + (i == 0 && firstIsM ? m : std::to_string(values[i]));
  return text;
}

static std::string typeOf(const Layout &layout, bool dynamic, const char *element = "f32") {
  return "memref<" + join(layout.sizes, "x", dynamic, "?") + "x" + element + ", strided<[" +
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

uint16_t LinearCase::halfOf(float value) const {
  return panels == Panels::F16 ? floatToHalf(value) : floatToBfloat(value);
}
float LinearCase::floatOf(uint16_t half) const {
  return panels == Panels::F16 ? halfToFloat(half) : bfloatToFloat(half);
}

const char *LinearCase::precisionName() const {
  switch (panels) {
  case Panels::F32:
    return isTf32 ? "tf32" : "f32";
  case Panels::BF16:
    return "bf16";
  case Panels::F16:
    return "f16";
  case Panels::Int8:
    return "int8";
  case Panels::Int8Groups:
    return "int8_groups";
  case Panels::Int4:
    return "int4";
  case Panels::Int4Groups:
    return "int4_groups";
  }
  return "";
}

std::string LinearCase::text(const std::string &name) const {
  const char *half = isOfBits ? "i16" : panels == Panels::F16 ? "f16" : "bf16";
  const char *outElement = isOfBits ? half : "f32";
  const char *inElement = hasByteRows() ? "i8" : "f32",
             *panelElement = hasByteRows()            ? "i8"
                             : panels == Panels::BF16 ? "i16"
                             : panels == Panels::F16  ? "f16"
                                                      : "f32",
             *scale = hasGroups() ? "f16" : "f32", *sum = hasGroups() ? "f32" : "i32";
  std::ostringstream text;
  text << "func.func @" << name
       << "(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, "
          "%threads: index, %m: index, %a0: memref<"
       << inElement << ">, %a1: memref<" << panelElement << ">, %a2: memref<f32>, %a3: memref<"
       << outElement
       << ">, %a4: memref<f32>, %a5: memref<f32>, "
          "%a6: memref<f32>, %a7: memref<"
       << scale << ">, %a8: memref<" << sum << ">, %a9: memref<" << (isNarrow ? half : "i16")
       << ">, %a10: memref<f32>, %a11: memref<f32>, %a12: memref<i32>) {\n";
  auto view = [&](const char *result, const std::string &pointer, const Layout &layout,
                  bool dynamic, const char *element = "f32") {
    text << "  " << result << " = memref.reinterpret_cast " << pointer
         << " to offset: [0], sizes: [" << join(layout.sizes, ", ", dynamic) << "], strides: ["
         << join(layout.strides, ", ") << "] : memref<" << element << "> to "
         << typeOf(layout, dynamic, element) << "\n";
  };
  int64_t stored = (n + 47) / 48 * panelRows() * 48;
  Layout packed{{areHalfBytes() ? stored / 2 : stored}, {1}}, row{{n}, {1}};
  Layout narrow{{rows(), depth()}, {panelRows(), 1}};
  if (isNarrow)
    view("%in", "%a9", narrow, dynamic, half);
  else
    view("%in", "%a0", in, dynamic, inElement);
  view("%panels", "%a1", packed, false, panelElement);
  Layout ranges = Layout::dense({rows(), rangeColumns()}), columns{{(n + 47) / 48 * 48}, {1}};
  std::string quantized, quantizedTypes;
  if (isRounded && !isNarrow) {
    view("%rounded", "%a9", narrow, dynamic, "i16");
    quantized = " rounded %rounded", quantizedTypes = " rounded " + typeOf(narrow, dynamic, "i16");
  }
  if (hasByteRows()) {
    Layout scales{{hasOffsets() ? stored / 16 : hasGroups() ? stored / 32 : columns.sizes[0]}, {1}};
    view("%range", "%a6", ranges, dynamic), view("%scales", "%a7", scales, false, scale);
    view("%sums", "%a8", columns, false, sum);
    quantized = " quantized(%range, %scales, %sums";
    quantizedTypes = " quantized(" + typeOf(ranges, dynamic) + ", " + typeOf(scales, false, scale) +
                     ", " + typeOf(columns, false, sum);
    if (hasGroups()) {
      view("%bytescales", "%a11", columns, false), view("%bytesums", "%a12", columns, false, "i32");
      quantized += ", %bytescales, %bytesums";
      quantizedTypes += ", " + typeOf(columns, false) + ", " + typeOf(columns, false, "i32");
    }
    quantized += ")", quantizedTypes += ")";
  }
  if (hasRoom) {
    Layout room = Layout::dense({mostThreads + sharedRows(), roomFloats()});
    view("%room", "%a10", room, false);
    quantized += " scratch %room", quantizedTypes += " scratch " + typeOf(room, false);
  }
  view("%bias", "%a2", row, false), view("%out", "%a3", out, dynamic, outElement);
  std::string names, types;
  for (size_t i = 0; i < captures.size(); ++i) {
    std::string capture = "%c" + std::to_string(i);
    std::string pointer = "%a" + std::to_string(isInPlace && i == 0 ? 3 : 4 + i);
    view(capture.c_str(), pointer, captures[i], dynamic);
    names += (i ? ", " : "") + capture;
    types += (i ? ", " : "") + typeOf(captures[i], dynamic);
  }
  text << "  attn.linear_kernel %in, %panels" << quantized << (hasBias ? " bias %bias" : "")
       << (names.empty() ? "" : " captures(" + names + ")") << " into %out contract "
       << (isNarrow ? 1 : ks.size()) << " in " << precisionName()
       << (isInPlace ? " in_place : " : " : ")
       << (isNarrow ? typeOf(narrow, dynamic, half) : typeOf(in, dynamic, inElement)) << ", "
       << typeOf(packed, false, panelElement) << quantizedTypes
       << (hasBias ? " bias " + typeOf(row, false) : "")
       << (types.empty() ? "" : " captures(" + types + ")") << " into "
       << typeOf(out, dynamic, outElement) << bodyOf(epilogue) << "\n  return\n}\n";
  return text.str();
}

LinearCase patches(int64_t b, int64_t c, int64_t y, int64_t x, int64_t p) {
  int64_t h = y * p, w = x * p, n = 56;
  LinearCase test({c, p, p}, n, Layout{{b, y, x, c, p, p}, {c * h * w, p * w, p, h * w, w, 1}},
                  Layout{{b, y, x, n}, {(y * x + 1) * n, x * n, n, 1}});
  test.epilogue = Epilogue::Residual;
  test.captures = {Layout{{b, y, x, n}, {0, x * n, n, 1}}};
  return test;
}

std::vector<LinearCase> casesOf(Panels panels, int64_t group, std::mt19937 &random) {
  std::vector<LinearCase> cases;
  for (int64_t rows : {1, 3, 8, 197})
    cases.emplace_back(rows, 10 * group, 50);
  for (int64_t n : {1, 16, 47, 97})
    cases.emplace_back(11, 9 * group, n, n % 2 ? Epilogue::Residual : Epilogue::Gelu);
  for (int64_t steps : {1, 3, 5, 192})
    cases.emplace_back(9, steps * group, 53, Epilogue::Relu);
  cases.emplace_back(13, 1536 * group, 70, Epilogue::ScaleAndShift); // in parts
  for (int i = 0; i < 5; ++i) {
    auto upTo = [&](int64_t most) { return int64_t(random() % most) + 1; };
    int64_t rows = upTo(60), k = upTo(40) * group, n = upTo(200);
    cases.emplace_back(rows, k, n, Epilogue(i % 5));
    cases.back().in = Layout::dense({rows, k}, int64_t(random() % 9) * group);
    cases.back().hasBias = i % 3 != 0, cases.back().dynamic = i % 2;
  }
  for (LinearCase &test : cases)
    test.panels = panels;
  return cases;
}

std::vector<LinearCase> fewRowsOf(Panels panels, int64_t group) {
  std::vector<LinearCase> cases;
  for (auto [rows, steps, n] : {std::tuple(1, 1, 1),
                                {1, 768, 50},
                                {1, 261, 200},
                                {2, 515, 16},
                                {3, 259, 97},
                                {4, 64, 64},
                                {7, 129, 65},
                                {8, 768, 63},
                                {1, 8703, 9},
                                {6, 2183, 33}})
    cases.emplace_back(rows, llvm::alignTo(steps * std::min<int64_t>(group, 4), group), n,
                       Epilogue(rows % 5));
  for (int64_t rows : {1, 3, 8}) {
    cases.emplace_back(rows, 68 * group, 70, Epilogue::ScaleAndShift);
    cases.back().dynamic = true;
  }
  for (LinearCase &test : cases) {
    test.panels = panels;
    test.isRounded = test.isNarrow = panels == Panels::BF16 || panels == Panels::F16;
  }
  return cases;
}

} // namespace attn::test
