// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module of PTX as read from its text: kernels with their registers, parameters, variables and
// instructions. Names are gone: a register is a number, a variable the address it will have, a
// label the index of an instruction. Every instruction carries the action that executes it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace attn::ptx {

struct Step;

/// What an instruction does to the lanes that execute it.
using Action = std::function<void(Step &)>;

/// The types of PTX (ISA 5.2).
enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F64
};

/// `f32` to Type::F32; None for what is no type.
Type typeNamed(const std::string &name);
int bitsOf(Type type);
bool isFloat(Type type);
bool isSigned(Type type);

/// State spaces (ISA 5.1). A generic address lies in the window of its space, see Memory.h.
enum class Space : uint8_t { Generic, Global, Shared, Local, Param, Const };

/// Special registers (ISA 10) that kernels read.
enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NWarpId,
  LanemaskEq,
  LanemaskLt,
  LanemaskLe,
  LanemaskGt,
  LanemaskGe,
  SmId,
  NSmId,
  One,
  Zero,
  Clock,
  GlobalTimer,
  DynamicSharedBytes,
  TotalSharedBytes
};

struct Operand {
  enum class Kind : uint8_t { Register, Immediate, Special, Vector, Address, Sink };
  Kind kind = Kind::Sink;
  /// A predicate read as its opposite: `!%p1`.
  bool negated = false;
  Special special = Special::Zero;
  uint32_t reg = 0;
  /// An immediate's bits (an integer's sign-extended), a label's instruction, an address' offset.
  uint64_t value = 0;
  /// A vector's elements; an address' base and a tensor's coordinates after it; the second
  /// predicate of `%p|%q`.
  std::vector<Operand> parts;
};

/// Whether an instruction waits for other lanes of its warp.
enum class Convergence : uint8_t {
  /// Lanes go alone.
  None,
  /// `.aligned`: all lanes of the warp execute it together.
  Warp,
  /// All lanes of the membermask in `maskOperand` execute it together.
  Mask
};

struct Instruction {
  int line = 0;
  /// As in the text: `add.rn.f32`.
  std::string name;
  std::vector<Operand> operands;
  bool guarded = false;
  Operand guard;
  Convergence convergence = Convergence::None;
  uint32_t maskOperand = 0;
  Action action;
};

struct Parameter {
  std::string name;
  uint32_t offset;
  uint32_t size;
};

struct Kernel {
  std::string name;
  int line = 0;
  std::vector<Parameter> parameters;
  uint32_t parameterBytes = 0;
  std::vector<Instruction> instructions;
  uint32_t registers = 0;
  uint32_t localBytes = 0;
  /// Shared memory's first byte after the static variables, and where `.extern` ones begin.
  uint32_t staticSharedEnd = 0;
  uint32_t dynamicSharedBegin = 0;
  uint32_t maxThreads = 0;
};

/// Initialised variables of the module's state space, at Memory.h's window for it.
struct Segment {
  std::vector<uint8_t> bytes;
};

struct Module {
  std::vector<Kernel> kernels;
  Segment globals;
  Segment constants;
  /// Where in `globals` its variables are, by name.
  std::map<std::string, uint64_t> globalOffsets;
  /// What is wrong with the text, one sentence an error, each with its line; empty when all is
  /// well.
  std::vector<std::string> errors;

  static Module parse(const std::string &text);
  const Kernel *find(const std::string &name) const;
};

} // namespace attn::ptx
