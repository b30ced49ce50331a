// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma (ISA 9.7.15): products of a warp group, four warps, of which each computes 16 rows of the
// 64. The sums are computed when the product is issued; what may not be touched until it is waited
// for is guarded: registers by Products, shared memory by Hazards.
#include "test/gpu/interpreter/Fragments.h"
#include "test/gpu/interpreter/Instructions.h"
#include <algorithm>

namespace attn::ptx {
namespace {

constexpr int warpRows = 16;

struct ProductForm {
  int n;
  int k;
  Element element;
  /// A in registers.
  bool registersA;
  /// Operands' places.
  size_t a, b, scaleD;
  int signA, signB;
  bool transposeA, transposeB;
};

/// A matrix in shared memory (ISA 9.7.15.5.1.2): rows of M or N by K.
struct Descriptor {
  uint32_t start;
  uint32_t leading;
  uint32_t stride;
  Swizzle swizzle;
  uint32_t baseOffset;

  explicit Descriptor(uint64_t bits)
      : start(uint32_t(bits & 0x3fff) << 4), leading(uint32_t(bits >> 16 & 0x3fff) << 4),
        stride(uint32_t(bits >> 32 & 0x3fff) << 4), swizzle(Swizzle((4 - (bits >> 62)) % 4)),
        baseOffset(uint32_t(bits >> 49 & 7)) {}

  /// The 16-byte chunk of a matrix that is major along K: its row, and the number of the chunk in
  /// the row.
  uint32_t kMajor(uint32_t row, uint32_t chunk) const {
    uint32_t width = std::max<uint32_t>(swizzle == Swizzle::None ? 16 : 16 << int(swizzle), 16);
    uint32_t along = swizzle == Swizzle::None ? chunk * leading : chunk * 16;
    return swizzled(start + row % 8 * width + row / 8 * stride + along, swizzle);
  }

  /// The same of one major along M or N: k, and the number of the chunk of M or N.
  uint32_t mnMajor(uint32_t k, uint32_t chunk) const {
    if (swizzle == Swizzle::None)
      return start + chunk * stride + k % 8 * 16 + k / 8 * leading;
    uint32_t chunks = 1u << int(swizzle);
    return swizzled(start + chunk % chunks * 16 + chunk / chunks * leading + k % 8 * chunks * 16 +
                        k / 8 * stride,
                    swizzle);
  }
};

/// Reads `rows` rows from row `first` on, all of K, noting the accesses. Elements are numbers.
bool readMatrix(Step &step, const ProductForm &form, uint64_t bits, bool transposed, int first,
                int rows, const std::vector<Author> &authors, std::vector<double> &elements) {
  Descriptor descriptor(bits);
  if (descriptor.baseOffset) {
    step.fail("a descriptor with a base offset is not supported");
    return false;
  }
  elements.resize(size_t(rows) * form.k);
  int bytes = form.element.bits / 8;
  int perChunk = 16 / bytes;
  int outer = transposed ? form.k : rows;
  int chunks = (transposed ? rows : form.k) / perChunk;
  for (int o = 0; o < outer; ++o)
    for (int chunk = 0; chunk < chunks; ++chunk) {
      uint32_t address = transposed ? descriptor.mnMajor(o, chunk + first / perChunk)
                                    : descriptor.kMajor(first + o, chunk);
      step.sharedOffset(step.firstLane(), address, 16, 16);
      if (step.machine.failed())
        return false;
      for (const Author &author : authors) {
        std::string error = step.block.hazards->read(author, address, 16);
        if (!error.empty()) {
          step.fail(error);
          return false;
        }
      }
      for (int i = 0; i < perChunk; ++i) {
        uint32_t element = 0;
        std::memcpy(&element, &step.block.shared[address + i * bytes], bytes);
        int row = transposed ? chunk * perChunk + i : o;
        int k = transposed ? o : chunk * perChunk + i;
        elements[size_t(row) * form.k + k] = form.element.value(element);
      }
    }
  return true;
}

/// A from registers: as mma.sync has it.
void readRegisters(Step &step, const ProductForm &form, std::vector<double> &elements) {
  elements.resize(size_t(warpRows) * form.k);
  int per = 32 / form.element.bits;
  for (int lane = 0; lane < warpSize; ++lane)
    for (int part = 0; part < 4; ++part) {
      const Operand &from = step.operand(form.a).parts[part];
      uint64_t packed = step.warp.registers[size_t(from.reg) * warpSize + lane];
      for (int i = 0; i < per; ++i) {
        int row = lane / 4 + part % 2 * 8;
        int k = part / 2 * 4 * per + lane % 4 * per + i;
        elements[size_t(row) * form.k + k] = form.element.at(packed, i);
      }
    }
}

/// All warps of a warp group issue the same products in the same order.
bool checkOrder(Step &step) {
  std::vector<uint32_t> &order = step.block.productOrder[step.warp.index / 4];
  uint32_t number = step.warp.products.issued++;
  auto line = uint32_t(step.instruction.line);
  if (number == order.size())
    order.push_back(line);
  if (order[number] == line)
    return true;
  step.fail("another warp of the warp group executes the one of line " +
                std::to_string(order[number]) + " instead",
            step.firstLane());
  return false;
}

/// Registers that products write or read, against what other instructions and products do.
bool checkRegisters(Step &step, const ProductForm &form) {
  Products &products = step.warp.products;
  if (products.fences == 0)
    step.fail("no wgmma.fence comes before");
  auto check = [&](const Operand &operand, bool accumulator) {
    if (operand.kind != Operand::Kind::Register)
      return step.fail("expected registers");
    if (products.touched[operand.reg] > products.fences)
      step.fail(std::string("no wgmma.fence comes between ") +
                (accumulator ? "an accumulator" : "a register of A") +
                " and the instruction that touched it");
    if (accumulator && products.widths[operand.reg] &&
        products.widths[operand.reg] != uint32_t(form.n) &&
        products.widthFences[operand.reg] == products.fences)
      step.fail("no wgmma.fence comes between products of different shapes with one accumulator");
    bool writes = products.writers[operand.reg];
    if (accumulator ? bool(products.readers[operand.reg]) : writes)
      step.fail(accumulator ? "the accumulator is A of a product in flight"
                            : "A is the accumulator of a product in flight");
  };
  for (const Operand &operand : step.operand(0).parts)
    check(operand, true);
  if (form.registersA)
    for (const Operand &operand : step.operand(form.a).parts)
      check(operand, false);
  return !step.machine.failed();
}

/// The authors of a warp's reads: one for each state of knowledge among its lanes.
std::vector<Author> readers(Step &step) {
  Products &products = step.warp.products;
  if (products.actor == noActor)
    products.actor =
        step.block.hazards->addActor("a wgmma of warp " + std::to_string(step.warp.index));
  ++products.clock;
  std::vector<Author> authors;
  for (int lane = 0; lane < warpSize; ++lane) {
    const Witness &witness = step.thread(lane).witness;
    bool known = std::any_of(authors.begin(), authors.end(), [&](const Author &author) {
      return author.witness->learnt == witness.learnt;
    });
    if (!known)
      authors.push_back({&witness, products.actor, products.clock, step.instruction.line, true});
  }
  return authors;
}

void hold(Step &step, const ProductForm &form) {
  Products &products = step.warp.products;
  ProductGroup &group = products.groups.back();
  group.lastClock = products.clock;
  for (const Operand &operand : step.operand(0).parts) {
    ++products.writers[operand.reg];
    products.widths[operand.reg] = uint32_t(form.n);
    products.widthFences[operand.reg] = products.fences;
    group.accumulators.push_back(operand.reg);
  }
  if (!form.registersA)
    return;
  for (const Operand &operand : step.operand(form.a).parts) {
    ++products.readers[operand.reg];
    group.sources.push_back(operand.reg);
  }
}

void multiply(Step &step, const ProductForm &form) {
  if (step.lanes != ~0u || (step.warp.index | 3) >= step.block.warps.size())
    return step.fail("needs four whole warps", step.firstLane());
  if (!checkOrder(step) || !checkRegisters(step, form))
    return;
  int leader = step.firstLane();
  uint64_t keep = step.read(step.operand(form.scaleD), leader) & 1;
  uint64_t descriptorA = form.registersA ? 0 : step.read(step.operand(form.a), leader);
  uint64_t descriptorB = step.read(step.operand(form.b), leader);
  step.each([&](int lane) {
    if (step.read(step.operand(form.b), lane) != descriptorB ||
        (!form.registersA && step.read(step.operand(form.a), lane) != descriptorA) ||
        (step.read(step.operand(form.scaleD), lane) & 1) != keep)
      step.fail("the lanes differ in descriptors or scale-d", lane);
  });
  std::vector<Author> authors = readers(step);
  std::vector<double> a;
  std::vector<double> b;
  if (form.registersA)
    readRegisters(step, form, a);
  else if (!readMatrix(step, form, descriptorA, form.transposeA, step.warp.index % 4 * warpRows,
                       warpRows, authors, a))
    return;
  if (!readMatrix(step, form, descriptorB, form.transposeB, 0, form.n, authors, b))
    return;
  double sign = form.signA * form.signB;
  for (int lane = 0; lane < warpSize; ++lane)
    for (size_t i = 0; i < step.operand(0).parts.size(); ++i) {
      int row = lane / 4 + int(i / 2 % 2) * 8;
      int column = lane % 4 * 2 + int(i % 2) + int(i / 4) * 8;
      uint64_t &accumulator =
          step.warp.registers[size_t(step.operand(0).parts[i].reg) * warpSize + lane];
      double sum = 0;
      const double *x = &a[size_t(row) * form.k];
      const double *y = &b[size_t(column) * form.k];
      for (int k = 0; k < form.k; ++k)
        sum += x[k] * y[k];
      accumulator = bitsOf(float(sign * sum + (keep ? double(floatOf(accumulator)) : 0.0)));
    }
  hold(step, form);
}

/// An operand that must be one of two constants.
int takeConstant(Decoding &decoding, size_t i, int least) {
  const Operand &operand = decoding.instruction.operands[i];
  auto value = int64_t(operand.value);
  if (operand.kind != Operand::Kind::Immediate || (value != 1 && value != least)) {
    decoding.fail("expected " + std::to_string(least) + " or 1 for operand " + std::to_string(i));
    return 1;
  }
  return int(value);
}

} // namespace

/// `.m64nNkK.f32.T.T {d...}, a, b-descriptor, scale-d, imm-scale-a, imm-scale-b{, imm-trans-a,
/// imm-trans-b}`; with A in registers there is no imm-trans-a.
Action decodeWgmma(Decoding &decoding) {
  bool aligned = decoding.takeAll({"sync", "aligned"});
  ProductForm form{};
  form.n = -1;
  for (int n = 8; n <= 256; n += 8)
    for (int k : {8, 16})
      if (decoding.take(("m64n" + std::to_string(n) + "k" + std::to_string(k)).c_str())) {
        form.n = n;
        form.k = k;
      }
  Type d = decoding.takeType();
  Type type = decoding.takeType();
  form.element = elementNamed(type);
  if (!aligned || form.n < 0 || d != Type::F32 || decoding.takeType() != type ||
      form.element.bits < 16 || form.k * form.element.bits != 256) {
    decoding.fail("is not a product that is supported");
    return {};
  }
  form.a = 1;
  form.b = 2;
  form.scaleD = 3;
  form.registersA =
      decoding.operands() > 1 && decoding.instruction.operands[1].kind == Operand::Kind::Vector;
  bool transposes = form.element.bits == 16;
  decoding.expectOperands(6 + (transposes ? (form.registersA ? 1 : 2) : 0));
  decoding.expectVector(0, form.n / 2);
  if (form.registersA)
    decoding.expectVector(1, 4);
  form.signA = takeConstant(decoding, 4, -1);
  form.signB = takeConstant(decoding, 5, -1);
  if (transposes) {
    form.transposeA = !form.registersA && takeConstant(decoding, 6, 0);
    form.transposeB = takeConstant(decoding, form.registersA ? 6 : 7, 0);
  }
  decoding.instruction.convergence = Convergence::Warp;
  return [form](Step &step) { multiply(step, form); };
}

static void beAligned(Decoding &decoding, size_t operands) {
  if (!decoding.takeAll({"sync", "aligned"}))
    decoding.fail("expected .sync.aligned");
  decoding.expectOperands(operands);
  decoding.instruction.convergence = Convergence::Warp;
}

Action decodeWgmmaFence(Decoding &decoding) {
  beAligned(decoding, 0);
  return [](Step &step) { ++step.warp.products.fences; };
}

Action decodeWgmmaCommit(Decoding &decoding) {
  beAligned(decoding, 0);
  return [](Step &step) { step.warp.products.groups.emplace_back(); };
}

Action decodeWgmmaWait(Decoding &decoding) {
  beAligned(decoding, 1);
  uint64_t pending = decoding.instruction.operands[0].value;
  if (pending > 7)
    decoding.fail("expected at most 7 groups, but got " + std::to_string(pending));
  return [pending](Step &step) {
    Products &products = step.warp.products;
    uint32_t clock = 0;
    while (products.groups.size() > 1 + pending) {
      const ProductGroup &group = products.groups.front();
      for (uint32_t reg : group.accumulators)
        --products.writers[reg];
      for (uint32_t reg : group.sources)
        --products.readers[reg];
      clock = std::max(clock, group.lastClock);
      products.groups.pop_front();
    }
    if (!clock)
      return;
    Teaching teaching(products.actor, clock);
    step.each([&](int lane) { teaching.teach(step.thread(lane).witness); });
  };
}

} // namespace attn::ptx
