// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions and their operands (ISA 4.3, 6): `@!%p1 ld.shared.v2.b32 {%r1, %r2}, [%rd1+8];`.
#include "test/gpu/interpreter/Instructions.h"
#include "test/gpu/interpreter/Parser.h"

namespace attn::ptx {

static const std::unordered_map<std::string, Special> &specials() {
  static const std::unordered_map<std::string, Special> table = {
      {"%tid.x", Special::TidX},
      {"%tid.y", Special::TidY},
      {"%tid.z", Special::TidZ},
      {"%ntid.x", Special::NtidX},
      {"%ntid.y", Special::NtidY},
      {"%ntid.z", Special::NtidZ},
      {"%ctaid.x", Special::CtaidX},
      {"%ctaid.y", Special::CtaidY},
      {"%ctaid.z", Special::CtaidZ},
      {"%nctaid.x", Special::NctaidX},
      {"%nctaid.y", Special::NctaidY},
      {"%nctaid.z", Special::NctaidZ},
      {"%laneid", Special::LaneId},
      {"%warpid", Special::WarpId},
      {"%nwarpid", Special::NWarpId},
      {"%lanemask_eq", Special::LanemaskEq},
      {"%lanemask_lt", Special::LanemaskLt},
      {"%lanemask_le", Special::LanemaskLe},
      {"%lanemask_gt", Special::LanemaskGt},
      {"%lanemask_ge", Special::LanemaskGe},
      {"%smid", Special::SmId},
      {"%nsmid", Special::NSmId},
      {"%clock", Special::Clock},
      {"%clock64", Special::Clock},
      {"%globaltimer", Special::GlobalTimer},
      {"%dynamic_smem_size", Special::DynamicSharedBytes},
      {"%total_smem_size", Special::TotalSharedBytes},
      // A cluster is one block.
      {"%clusterid.x", Special::CtaidX},
      {"%clusterid.y", Special::CtaidY},
      {"%clusterid.z", Special::CtaidZ},
      {"%nclusterid.x", Special::NctaidX},
      {"%nclusterid.y", Special::NctaidY},
      {"%nclusterid.z", Special::NctaidZ},
      {"%cluster_ctaid.x", Special::Zero},
      {"%cluster_ctaid.y", Special::Zero},
      {"%cluster_ctaid.z", Special::Zero},
      {"%cluster_nctaid.x", Special::One},
      {"%cluster_nctaid.y", Special::One},
      {"%cluster_nctaid.z", Special::One},
      {"%cluster_ctarank", Special::Zero},
      {"%cluster_nctarank", Special::One},
      {"%is_explicit_cluster", Special::Zero}};
  return table;
}

static Operand immediate(uint64_t value) {
  Operand operand;
  operand.kind = Operand::Kind::Immediate;
  operand.value = value;
  return operand;
}

void Parser::parseInstruction() {
  Instruction instruction;
  instruction.line = peek().line;
  if (accept("@")) {
    instruction.guarded = true;
    if (!parseOperand(instruction.guard))
      return skipStatement();
  }
  if (peek().kind != Token::Kind::Word) {
    fail("expected an instruction, but got '" + peek().text + "'");
    if (!atEnd())
      next();
    return skipStatement();
  }
  instruction.name = next().text;
  if (instruction.name == "bra" || instruction.name == "bra.uni") {
    scopes.back().branches.push_back({kernel.instructions.size(), 0, next().text});
    instruction.operands.push_back(immediate(0));
  } else if (instruction.name.rfind("brx.idx", 0) == 0) {
    if (!parseTargets(instruction))
      return skipStatement();
  } else if (!peek().is(";") && !parseList(instruction.operands, ";")) {
    return skipStatement();
  }
  if (!expect(";"))
    return skipStatement();
  std::string error = decode(instruction);
  if (!error.empty())
    failAt(instruction.line, error);
  kernel.instructions.push_back(std::move(instruction));
}

/// `brx.idx %r1, $L_brx_0`: the index, and the labels that the list of that name has.
bool Parser::parseTargets(Instruction &instruction) {
  if (!parseOperand(instruction.operands.emplace_back()) || !expect(","))
    return false;
  std::string list = next().text;
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (auto found = scope->targets.find(list); found != scope->targets.end()) {
      for (const std::string &label : found->second) {
        scopes.back().branches.push_back(
            {kernel.instructions.size(), instruction.operands.size(), label});
        instruction.operands.push_back(immediate(0));
      }
      return true;
    }
  fail("unknown list of labels '" + list + "'");
  return false;
}

bool Parser::parseList(std::vector<Operand> &elements, const char *end) {
  while (!peek().is(end)) {
    if (!parseOperand(elements.emplace_back()))
      return false;
    if (!accept(","))
      break;
  }
  return true;
}

bool Parser::parseOperand(Operand &operand) {
  if (accept("{")) {
    operand.kind = Operand::Kind::Vector;
    return parseList(operand.parts, "}") && expect("}");
  }
  if (accept("["))
    return parseAddress(operand);
  if (accept("!")) {
    bool fine = parseNamed(operand);
    operand.negated = true;
    return fine;
  }
  bool negative = accept("-");
  if (peek().kind == Token::Kind::Number) {
    uint64_t bits = next().bits;
    operand = immediate(negative ? -bits : bits);
    return true;
  }
  return parseNamed(operand);
}

/// `[%rd1+8]`, `[name+-4]`, `[%rd2, {%r1, %r2}]`, `[16]`.
bool Parser::parseAddress(Operand &operand) {
  operand.kind = Operand::Kind::Address;
  if (!parseOperand(operand.parts.emplace_back()))
    return false;
  if (accept("+")) {
    bool negative = accept("-");
    uint64_t offset = next().bits;
    operand.value += negative ? -offset : offset;
  }
  if (accept(",") && !(expect("{") && parseList(operand.parts, "}") && expect("}")))
    return false;
  return expect("]");
}

bool Parser::parseNamed(Operand &operand) {
  std::string name = peek().text;
  if (peek().kind != Token::Kind::Word) {
    fail("expected an operand, but got '" + name + "'");
    return false;
  }
  auto special = specials().find(name);
  if (name == "_") {
    operand.kind = Operand::Kind::Sink;
  } else if (name == "WARP_SZ") {
    operand = immediate(32);
  } else if (special != specials().end()) {
    operand.kind = Operand::Kind::Special;
    operand.special = special->second;
  } else if (const Name *entry = lookUp(name)) {
    if (entry->kind == Name::Kind::Register) {
      operand.kind = Operand::Kind::Register;
      operand.reg = entry->index;
    } else if (entry->kind == Name::Kind::Variable) {
      operand = immediate(entry->value);
    } else {
      if (!kernel.dynamicSharedBegin)
        kernel.dynamicSharedBegin = alignExactly(kernel.staticSharedEnd, entry->index);
      operand = immediate(kernel.dynamicSharedBegin);
    }
  } else {
    fail("unknown name '" + name + "'");
    return false;
  }
  next();
  if (operand.kind == Operand::Kind::Immediate && peek().is("+") &&
      tokens[at + 1].kind == Token::Kind::Number) {
    next();
    operand.value += next().bits;
  }
  if (accept("|"))
    return parseNamed(operand.parts.emplace_back());
  return true;
}

} // namespace attn::ptx
