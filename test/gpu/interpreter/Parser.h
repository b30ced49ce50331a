// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parser's state: tokens, the kernel being read and the names in scope. Directives are in
// Parser.cpp, instructions and their operands in ParseInstructions.cpp.
#pragma once

#include "test/gpu/interpreter/Layout.h"
#include "test/gpu/interpreter/Lexer.h"
#include "test/gpu/interpreter/Module.h"
#include <cstring>
#include <unordered_map>

namespace attn::ptx {

class Parser {
public:
  Parser(const std::vector<Token> &tokens, Module &module) : tokens(tokens), module(module) {}
  void parseModule();

private:
  /// What a name stands for; a dynamic shared variable's `index` is its alignment.
  struct Name {
    enum class Kind : uint8_t { Register, Variable, DynamicShared };
    Kind kind;
    uint32_t index;
    uint64_t value;
  };
  /// A branch whose label may yet follow.
  struct Branch {
    size_t instruction;
    size_t operand;
    std::string label;
  };
  struct Scope {
    std::unordered_map<std::string, Name> names;
    std::unordered_map<std::string, size_t> labels;
    /// The labels that `.branchtargets` lists.
    std::unordered_map<std::string, std::vector<std::string>> targets;
    std::vector<Branch> branches;
  };

  const Token &peek() const { return tokens[at]; }
  const Token &next();
  bool atEnd() const { return peek().kind == Token::Kind::End; }
  bool accept(const char *text);
  bool expect(const char *text);
  void fail(const std::string &message);
  void failAt(int line, const std::string &message);
  void skipLine();
  void skipStatement();
  void skipBraces();

  bool parseVariable();
  void parseInitialiser(std::vector<uint8_t> &bytes, uint32_t elementBytes);
  void declare(const std::string &name, Space space, uint32_t alignment, bool dynamic,
               const std::vector<uint8_t> &bytes);
  void parseKernel();
  void parseParameter();
  void parseBlock();
  void parseStatement();
  void parseRegisters();
  void resolveLabels();
  const Name *lookUp(const std::string &name) const;

  void parseInstruction();
  bool parseTargets(Instruction &instruction);
  bool parseOperand(Operand &operand);
  bool parseList(std::vector<Operand> &elements, const char *end);
  bool parseAddress(Operand &operand);
  bool parseNamed(Operand &operand);

  const std::vector<Token> &tokens;
  Module &module;
  size_t at = 0;
  Kernel kernel;
  /// The module's, the kernel's parameters, its body, and blocks in it.
  std::vector<Scope> scopes;
  uint32_t sharedEnd = sharedBegin;
};

} // namespace attn::ptx
