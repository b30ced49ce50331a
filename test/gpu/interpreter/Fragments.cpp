// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ldmatrix, stmatrix (ISA 9.7.14.5.15, .16) and mma.sync (9.7.14.5.14). How a GPU orders and
// rounds the sums within a product the manual leaves open; here they are exact to double precision
// and rounded once.
#include "test/gpu/interpreter/Fragments.h"
#include "test/gpu/interpreter/Instructions.h"

namespace attn::ptx {

Element elementNamed(Type type) {
  switch (type) {
  case Type::F16:
    return {16, [](uint32_t bits) { return widen(uint16_t(bits), f16Format); }};
  case Type::BF16:
    return {16, [](uint32_t bits) { return double(floatOf(uint64_t(bits) << 16)); }};
  case Type::TF32:
    // The low 13 bits do not count.
    return {32, [](uint32_t bits) { return double(floatOf(bits & ~0x1fffu)); }};
  case Type::S8:
    return {8, [](uint32_t bits) { return double(int8_t(bits)); }};
  case Type::U8:
    return {8, [](uint32_t bits) { return double(uint8_t(bits)); }};
  default:
    return {0, nullptr};
  }
}

double Element::at(uint64_t packed, int i) const {
  return value(uint32_t(packed >> (i * bits)) & (bits == 32 ? ~0u : (1u << bits) - 1));
}

namespace {

struct MatrixForm {
  int count;
  bool transposed;
};

MatrixForm takeMatrix(Decoding &decoding) {
  bool aligned = decoding.takeAll({"sync", "aligned", "m8n8"});
  int count = decoding.takeOneOf({"x1", "x2", "x4"});
  bool transposed = decoding.take("trans");
  bool shared = decoding.take("shared") || decoding.take("shared::cta");
  if (!aligned || count < 0 || !shared || bitsOf(decoding.takeType()) != 16)
    decoding.fail("expected .sync.aligned.m8n8, .x1, .x2 or .x4, and .shared.b16");
  decoding.expectOperands(2);
  decoding.instruction.convergence = Convergence::Warp;
  return {1 << std::max(count, 0), transposed};
}

/// The 16 bytes of a row whose address `lane` gives; null after a failure. The access is
/// `author`'s.
uint8_t *row(Step &step, int lane, int author, const Operand &address, bool write) {
  return step.locate(author, Space::Shared, step.address(address, lane), 16, write);
}

/// Where element i of a lane's register lies in its matrix.
std::pair<int, int> place(int lane, int i, bool transposed) {
  std::pair<int, int> rowColumn = {lane / 4, lane % 4 * 2 + i};
  return transposed ? std::pair(rowColumn.second, rowColumn.first) : rowColumn;
}

bool full(Step &step) {
  if (step.lanes != ~0u)
    step.fail("needs a warp of 32 threads", step.firstLane());
  return !step.machine.failed();
}

} // namespace

Action decodeLdmatrix(Decoding &decoding) {
  MatrixForm form = takeMatrix(decoding);
  decoding.expectVector(0, form.count);
  return [form](Step &step) {
    if (!full(step))
      return;
    for (int m = 0; m < form.count; ++m) {
      uint16_t matrix[8][8];
      for (int r = 0; r < 8; ++r) {
        // One of the lanes that receive the row reads it, not the one that has its address: what
        // the latter alone knows of does not order the others.
        int receiver = form.transposed ? r / 2 + 4 * m : r * 4 + m;
        const uint8_t *bytes = row(step, m * 8 + r, receiver, step.operand(1), false);
        if (!bytes)
          return;
        std::memcpy(matrix[r], bytes, 16);
      }
      step.each([&](int lane) {
        auto [r0, c0] = place(lane, 0, form.transposed);
        auto [r1, c1] = place(lane, 1, form.transposed);
        step.write(step.operand(0).parts[m], lane, uint32_t(matrix[r1][c1]) << 16 | matrix[r0][c0]);
      });
    }
  };
}

Action decodeStmatrix(Decoding &decoding) {
  MatrixForm form = takeMatrix(decoding);
  decoding.expectVector(1, form.count);
  return [form](Step &step) {
    if (!full(step))
      return;
    for (int m = 0; m < form.count; ++m) {
      uint16_t matrix[8][8];
      step.each([&](int lane) {
        uint64_t pair = step.read(step.operand(1).parts[m], lane);
        for (int i = 0; i < 2; ++i) {
          auto [r, c] = place(lane, i, form.transposed);
          matrix[r][c] = uint16_t(pair >> (16 * i));
        }
      });
      for (int r = 0; r < 8; ++r) {
        uint8_t *bytes = row(step, m * 8 + r, m * 8 + r, step.operand(0), true);
        if (!bytes)
          return;
        std::memcpy(bytes, matrix[r], 16);
      }
    }
  };
}

namespace {

/// d = a * b + c for m16n8kK.
struct MmaForm {
  int k;
  Element a;
  Element b;
  bool whole;
};

void multiply(Step &step, const MmaForm &form) {
  // Elements in a 32-bit register, and registers along K.
  int per = 32 / form.a.bits;
  int steps = form.k / (4 * per);
  double a[16][64];
  double b[64][8];
  step.each([&](int lane) {
    for (int s = 0; s < steps; ++s)
      for (int i = 0; i < per; ++i) {
        int k = s * 4 * per + lane % 4 * per + i;
        for (int half = 0; half < 2; ++half) {
          const Operand &from = step.operand(1).parts[s * 2 + half];
          a[lane / 4 + 8 * half][k] = form.a.at(step.read(from, lane), i);
        }
        b[k][lane / 4] = form.b.at(step.read(step.operand(2).parts[s], lane), i);
      }
  });
  step.each([&](int lane) {
    uint64_t results[4];
    for (int i = 0; i < 4; ++i) {
      int m = lane / 4 + i / 2 * 8;
      int n = lane % 4 * 2 + i % 2;
      uint64_t start = step.read(step.operand(3).parts[i], lane);
      double sum = form.whole ? double(int32_t(start)) : double(floatOf(start));
      for (int k = 0; k < form.k; ++k)
        sum += a[m][k] * b[k][n];
      results[i] = form.whole ? uint64_t(uint32_t(int64_t(sum))) : bitsOf(float(sum));
    }
    for (int i = 0; i < 4; ++i)
      step.write(step.operand(0).parts[i], lane, results[i]);
  });
}

} // namespace

Action decodeMma(Decoding &decoding) {
  bool aligned = decoding.take("aligned");
  int shape = decoding.takeOneOf({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  bool layout = decoding.take("row") && decoding.take("col");
  bool saturate = decoding.take("satfinite");
  Type d = decoding.takeType();
  Element a = elementNamed(decoding.takeType());
  Element b = elementNamed(decoding.takeType());
  Type c = decoding.takeType();
  MmaForm form{4 << shape, a, b, d == Type::S32};
  bool fine = aligned && shape >= 0 && layout && !saturate && a.bits && a.bits == b.bits &&
              c == d && d == (a.bits == 8 ? Type::S32 : Type::F32);
  int perStep = a.bits ? 128 / a.bits : 1;
  if (!fine || form.k % perStep || form.k / perStep > 2) {
    decoding.fail("is not a product that is supported");
    return {};
  }
  decoding.expectOperands(4);
  int steps = form.k / perStep;
  decoding.expectVector(0, 4);
  decoding.expectVector(1, 2 * steps);
  decoding.expectVector(2, steps);
  decoding.expectVector(3, 4);
  decoding.instruction.convergence = Convergence::Warp;
  return [form](Step &step) {
    if (full(step))
      multiply(step, form);
  };
}

} // namespace attn::ptx
