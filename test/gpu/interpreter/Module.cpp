// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/gpu/interpreter/Module.h"
#include <unordered_map>

namespace attn::ptx {

const Kernel *Module::find(const std::string &name) const {
  for (const Kernel &kernel : kernels)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

int bitsOf(Type type) {
  switch (type) {
  case Type::None:
    return 0;
  case Type::Pred:
    return 1;
  case Type::B8:
  case Type::U8:
  case Type::S8:
    return 8;
  case Type::B16:
  case Type::U16:
  case Type::S16:
  case Type::F16:
  case Type::BF16:
    return 16;
  case Type::B64:
  case Type::U64:
  case Type::S64:
  case Type::F64:
    return 64;
  default:
    return 32;
  }
}

bool isFloat(Type type) { return type >= Type::F16; }

bool isSigned(Type type) { return type >= Type::S8 && type <= Type::S64; }

Type typeNamed(const std::string &name) {
  static const std::unordered_map<std::string, Type> types = {
      {"pred", Type::Pred}, {"b8", Type::B8},         {"b16", Type::B16},     {"b32", Type::B32},
      {"b64", Type::B64},   {"u8", Type::U8},         {"u16", Type::U16},     {"u32", Type::U32},
      {"u64", Type::U64},   {"s8", Type::S8},         {"s16", Type::S16},     {"s32", Type::S32},
      {"s64", Type::S64},   {"f16", Type::F16},       {"f16x2", Type::F16x2}, {"bf16", Type::BF16},
      {"f32", Type::F32},   {"bf16x2", Type::BF16x2}, {"tf32", Type::TF32},   {"f64", Type::F64}};
  auto found = types.find(name);
  return found == types.end() ? Type::None : found->second;
}

} // namespace attn::ptx
