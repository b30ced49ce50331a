// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX text to a Module, after ISA 4 (syntax) and 11 (directives), as far as LLVM's NVPTX back end
// writes it. After an error the parser goes on behind the next semicolon.
#include "test/gpu/interpreter/Parser.h"
#include "test/gpu/interpreter/Instructions.h"
#include "test/gpu/interpreter/Layout.h"
#include <algorithm>

namespace attn::ptx {

const Token &Parser::next() {
  const Token &token = tokens[at];
  at += at + 1 < tokens.size();
  return token;
}

bool Parser::accept(const char *text) {
  bool found = peek().is(text);
  if (found)
    next();
  return found;
}

bool Parser::expect(const char *text) {
  if (accept(text))
    return true;
  fail(std::string("expected '") + text + "', but got '" + peek().text + "'");
  return false;
}

void Parser::fail(const std::string &message) { failAt(peek().line, message); }

void Parser::failAt(int line, const std::string &message) {
  module.errors.push_back("line " + std::to_string(line) + ": " + message);
}

void Parser::skipLine() {
  for (int line = peek().line; peek().line == line && !atEnd();)
    next();
}

void Parser::skipStatement() {
  while (!atEnd() && !peek().is(";") && !peek().is("}"))
    next();
  accept(";");
}

void Parser::skipBraces() {
  int depth = 0;
  do {
    depth += peek().is("{") ? 1 : peek().is("}") ? -1 : 0;
    next();
  } while (depth > 0 && !atEnd());
}

void Parser::parseModule() {
  scopes.emplace_back();
  while (!atEnd()) {
    if (accept(".version") || accept(".target") || peek().is(".loc") || peek().is(".file"))
      skipLine();
    else if (accept(".address_size")) {
      if (next().bits != 64)
        fail("expected 64-bit addresses");
    } else if (accept(".section")) {
      while (!peek().is("{") && !atEnd())
        next();
      skipBraces();
    } else if (accept(".visible") || accept(".weak") || accept(";"))
      continue;
    else if (accept(".entry"))
      parseKernel();
    else if (accept(".func")) {
      fail("functions that are called are not supported, only kernels");
      while (!peek().is("{") && !peek().is(";") && !atEnd())
        next();
      peek().is("{") ? skipBraces() : skipStatement();
    } else if (!parseVariable()) {
      fail("expected a directive, but got '" + peek().text + "'");
      next();
      skipStatement();
    }
  }
}

/// `.extern .shared .align 1024 .b8 smem[];`, `.global .align 4 .b8 table[16] = {0, 0, 128, 63,
/// ...};`
bool Parser::parseVariable() {
  bool external = accept(".extern");
  static const std::unordered_map<std::string, Space> spaces = {{".global", Space::Global},
                                                                {".const", Space::Const},
                                                                {".shared", Space::Shared},
                                                                {".local", Space::Local}};
  auto space = spaces.find(peek().text);
  if (space == spaces.end())
    return false;
  next();
  uint32_t alignment = 0;
  uint32_t vector = 1;
  Type type = Type::None;
  for (; peek().kind == Token::Kind::Word && peek().text[0] == '.'; next()) {
    if (peek().is(".align")) {
      next();
      alignment = peek().bits;
    } else if (peek().is(".v2") || peek().is(".v4")) {
      vector = peek().is(".v2") ? 2 : 4;
    } else {
      type = typeNamed(peek().text.substr(1));
    }
  }
  if (type == Type::None || peek().kind != Token::Kind::Word) {
    fail("expected a variable's type and name, but got '" + peek().text + "'");
    skipStatement();
    return true;
  }
  std::string name = next().text;
  uint32_t elementBytes = bitsOf(type) / 8 * vector;
  uint32_t count = 1;
  bool sized = true;
  while (accept("[")) {
    sized = peek().kind == Token::Kind::Number;
    count *= sized ? next().bits : 1;
    expect("]");
  }
  std::vector<uint8_t> bytes(size_t(count) * elementBytes);
  if (accept("="))
    parseInitialiser(bytes, elementBytes);
  declare(name, space->second, std::max(alignment, elementBytes), external && !sized, bytes);
  if (!expect(";"))
    skipStatement();
  return true;
}

void Parser::parseInitialiser(std::vector<uint8_t> &bytes, uint32_t elementBytes) {
  bool list = accept("{");
  for (size_t offset = 0; !peek().is("}") && !peek().is(";") && !atEnd(); offset += elementBytes) {
    bool negative = accept("-");
    if (peek().kind != Token::Kind::Number || offset + elementBytes > bytes.size()) {
      fail("expected a number within the array, but got '" + peek().text + "'");
      break;
    }
    uint64_t value = negative ? -next().bits : next().bits;
    std::memcpy(bytes.data() + offset, &value, std::min<size_t>(elementBytes, 8));
    if (!accept(","))
      break;
  }
  if (list)
    expect("}");
}

static uint64_t append(Segment &segment, uint32_t alignment, const std::vector<uint8_t> &bytes) {
  segment.bytes.resize(alignTo(segment.bytes.size(), alignment));
  uint64_t offset = segment.bytes.size();
  segment.bytes.insert(segment.bytes.end(), bytes.begin(), bytes.end());
  return offset;
}

void Parser::declare(const std::string &name, Space space, uint32_t alignment, bool dynamic,
                     const std::vector<uint8_t> &bytes) {
  Name entry{Name::Kind::Variable, 0, 0};
  switch (space) {
  case Space::Global:
    entry.value = append(module.globals, alignment, bytes);
    module.globalOffsets[name] = entry.value;
    entry.value += moduleWindow;
    break;
  case Space::Const:
    entry.value = append(module.constants, alignment, bytes);
    break;
  case Space::Local:
    kernel.localBytes = alignTo(kernel.localBytes, alignment);
    entry.value = kernel.localBytes;
    kernel.localBytes += bytes.size();
    break;
  default:
    if (dynamic) {
      entry = {Name::Kind::DynamicShared, alignment, 0};
      break;
    }
    uint32_t &end = scopes.size() == 1 ? sharedEnd : kernel.staticSharedEnd;
    entry.value = end = alignTo(end, alignment);
    end += bytes.size();
    if (kernel.dynamicSharedBegin)
      fail("shared variable '" + name + "' after a use of the dynamic shared memory");
  }
  scopes.back().names[name] = entry;
}

void Parser::parseKernel() {
  kernel = {};
  kernel.line = peek().line;
  kernel.name = next().text;
  kernel.staticSharedEnd = sharedEnd;
  scopes.emplace_back();
  if (accept("("))
    while (!accept(")") && !atEnd())
      parseParameter();
  while (!peek().is("{") && !atEnd()) {
    if (accept(".maxntid") || accept(".reqntid")) {
      kernel.maxThreads = next().bits;
      while (accept(","))
        kernel.maxThreads *= next().bits;
    } else {
      next();
    }
  }
  parseBlock();
  if (!kernel.dynamicSharedBegin)
    kernel.dynamicSharedBegin = kernel.staticSharedEnd;
  module.kernels.push_back(std::move(kernel));
  scopes.pop_back();
}

/// `.param .u64 .ptr .global .align 1 k_param_0` or `.param .align 64 .b8 k_param_3[128]`.
void Parser::parseParameter() {
  if (!expect(".param")) {
    next();
    return;
  }
  uint32_t alignment = 1;
  bool pointer = false;
  Type type = Type::None;
  for (; peek().kind == Token::Kind::Word && peek().text[0] == '.'; next()) {
    pointer |= peek().is(".ptr");
    Type named = typeNamed(peek().text.substr(1));
    type = named == Type::None ? type : named;
    if (peek().is(".align")) {
      next();
      alignment = pointer ? 1 : peek().bits;
    }
  }
  if (type == Type::None) {
    fail("expected a parameter's type, but got '" + peek().text + "'");
    return;
  }
  std::string name = next().text;
  uint32_t size = bitsOf(type) / 8;
  alignment = std::max(alignment, size);
  if (accept("[")) {
    size *= next().bits;
    expect("]");
  }
  uint32_t offset = alignTo(kernel.parameterBytes, alignment);
  kernel.parameters.push_back({name, offset, size});
  kernel.parameterBytes = offset + size;
  scopes.back().names[name] = {Name::Kind::Variable, 0, offset};
  accept(",");
}

void Parser::parseBlock() {
  if (!expect("{"))
    return;
  scopes.emplace_back();
  while (!accept("}")) {
    if (atEnd()) {
      fail("expected '}', but got the end of the text");
      break;
    }
    parseStatement();
  }
  resolveLabels();
  scopes.pop_back();
}

void Parser::parseStatement() {
  if (peek().is("{"))
    return parseBlock();
  if (accept(";"))
    return;
  if (peek().is(".loc") || peek().is(".file"))
    return skipLine();
  if (accept(".pragma"))
    return skipStatement();
  if (accept(".reg"))
    return parseRegisters();
  if (peek().text[0] == '.' && peek().kind == Token::Kind::Word) {
    if (!parseVariable()) {
      fail("expected a statement, but got '" + peek().text + "'");
      skipStatement();
    }
    return;
  }
  if (peek().kind == Token::Kind::Word && tokens[at + 1].is(":")) {
    std::string label = next().text;
    next();
    scopes.back().labels[label] = kernel.instructions.size();
    if (accept(".branchtargets")) {
      do
        scopes.back().targets[label].push_back(next().text);
      while (accept(","));
      expect(";");
    }
    return;
  }
  parseInstruction();
}

/// `.reg .b32 %r<17>;` declares %r0 to %r16; `.reg .pred p, q;`.
void Parser::parseRegisters() {
  Type type = typeNamed(next().text.substr(1));
  if (type == Type::None)
    fail("expected the registers' type");
  do {
    std::string name = next().text;
    if (!accept("<")) {
      scopes.back().names[name] = {Name::Kind::Register, kernel.registers++, 0};
      continue;
    }
    uint64_t count = next().bits;
    for (uint64_t i = 0; i < count; ++i)
      scopes.back().names[name + std::to_string(i)] = {Name::Kind::Register, kernel.registers++, 0};
    expect(">");
  } while (accept(","));
  if (!expect(";"))
    skipStatement();
}

void Parser::resolveLabels() {
  Scope &scope = scopes.back();
  for (const Branch &branch : scope.branches) {
    if (branch.instruction >= kernel.instructions.size())
      continue;
    auto found = scope.labels.find(branch.label);
    if (found != scope.labels.end())
      kernel.instructions[branch.instruction].operands[branch.operand].value = found->second;
    else if (scopes.size() > 3)
      scopes[scopes.size() - 2].branches.push_back(branch);
    else
      failAt(kernel.instructions[branch.instruction].line, "unknown label '" + branch.label + "'");
  }
}

const Parser::Name *Parser::lookUp(const std::string &name) const {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    auto found = scope->names.find(name);
    if (found != scope->names.end())
      return &found->second;
  }
  return nullptr;
}

Module Module::parse(const std::string &text) {
  Module module;
  std::vector<Token> tokens = tokenize(text);
  Parser(tokens, module).parseModule();
  return module;
}

} // namespace attn::ptx
