// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Specs.h"
#include "gtest/gtest.h"

using namespace attn::frontend;
using namespace attn::frontend::test;
using namespace attn::frontend::ast;

/// The expression with all parentheses written.
static std::string tree(const Expr &e) {
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(&e))
    return "(" + tree(*binary->left) + " " + spelling(binary->op).str() + " " +
           tree(*binary->right) + ")";
  if (auto *unary = llvm::dyn_cast<UnaryExpr>(&e))
    return "(" + spelling(unary->op).str() + " " + tree(*unary->operand) + ")";
  if (auto *integer = llvm::dyn_cast<IntegerExpr>(&e))
    return std::to_string(integer->value);
  if (auto *path = llvm::dyn_cast<PathExpr>(&e))
    return path->path.str();
  if (auto *choice = llvm::dyn_cast<IfExpr>(&e))
    return "(if " + tree(*choice->condition) + " " + tree(*choice->thenValue) + " " +
           tree(*choice->elseValue) + ")";
  if (auto *call = llvm::dyn_cast<CallExpr>(&e)) {
    std::string text = tree(*call->callee) + "(";
    for (const Argument &argument : call->arguments)
      text += tree(*argument.value) + ";";
    return text + ")";
  }
  return "?";
}

static std::string tree(const std::string &expression) {
  Parsed parsed("attn 1\nmask m(i, j) = " + expression);
  EXPECT_EQ(parsed.errors(), "");
  return tree(*llvm::cast<HookDecl>(*parsed.file->items.at(0)).body);
}

TEST(Parser, Precedence) {
  EXPECT_EQ(tree("1 + 2 * 3 - 4"), "((1 + (2 * 3)) - 4)");
  EXPECT_EQ(tree("a / b / c"), "((a / b) / c)");
  EXPECT_EQ(tree("-a ** b ** -c * d"), "((- (a ** (b ** (- c)))) * d)");
  EXPECT_EQ(tree("not a == b and c or d"), "(((not (a == b)) and c) or d)");
  EXPECT_EQ(tree("a ?? b or c"), "(a ?? (b or c))");
  EXPECT_EQ(tree("if a < b then c else d + 1"), "(if (a < b) c (d + 1))");
  EXPECT_EQ(tree("f(a)(b) % dim(q)"), "(f(a;)(b;) % dim(q;))");
}

TEST(Parser, EveryFormParses) {
  EXPECT_EQ(Parsed(visionTransformer).errors(), "");
  EXPECT_EQ(Parsed(everyForm).errors(), "");
}

TEST(Parser, VisionTransformerTree) {
  Parsed parsed(visionTransformer);
  auto &model = llvm::cast<ModelDecl>(*parsed.file->items.at(0));
  EXPECT_EQ(model.name.text, "ViT");
  EXPECT_EQ(model.items.size(), 12u);
  auto &block = llvm::cast<BlockDecl>(*model.items.at(9));
  EXPECT_EQ(block.signature.dims.at(0).text, "T");
  auto &qkv = llvm::cast<LinearDecl>(*block.items.at(1));
  EXPECT_EQ(qkv.names.at(2).str(), "attn.v");
  EXPECT_TRUE(qkv.bias);
  EXPECT_EQ(qkv.to.size(), 2u);
  EXPECT_EQ(qkv.binding.kind, Binding::Kind::Split);
  EXPECT_EQ(qkv.binding.pattern.text, "attn.qkv.{weight|bias}");
  EXPECT_EQ(qkv.binding.components.size(), 3u);
  auto &let = llvm::cast<LetStmt>(*block.items.at(6));
  auto &call = llvm::cast<CallExpr>(*llvm::cast<BinaryExpr>(*let.value).right);
  auto &attend = llvm::cast<AttendExpr>(*call.arguments.at(0).value);
  EXPECT_EQ(attend.along.at(0).alias->text, "S");
  EXPECT_EQ(parsed.source.text(attend.range),
            "attend attn.q(n) over attn.k(n), attn.v(n) along T as S { score scaled_dot }");
  auto &image = llvm::cast<ImageDecl>(*model.items.at(10));
  EXPECT_EQ(llvm::cast<FloatExpr>(*image.mean.at(0)).value, 0.5);
}

TEST(Parser, RangesCoverItems) {
  Parsed parsed(visionTransformer);
  auto &model = llvm::cast<ModelDecl>(*parsed.file->items.at(0));
  EXPECT_EQ(parsed.source.text(model.items.at(3)->range), "dyn B <= 64");
  EXPECT_EQ(parsed.source.text(model.closingBrace), "}");
  EXPECT_EQ(parsed.source.text(llvm::cast<BlockDecl>(*model.items.at(9)).signature.range),
            "Block[T](x: [B, T, D]) -> [B, T, D]");
}

TEST(Parser, BiasIsAFlagOrTheNextDeclaration) {
  Parsed parsed(
      "attn 1 model M { linear a: D -> D bias bias b(i) = i linear c: D -> D bias d(i) = i\n"
      "linear e: D -> D bias layernorm f: D }");
  EXPECT_EQ(parsed.errors(), "");
  auto &items = llvm::cast<ModelDecl>(*parsed.file->items.at(0)).items;
  ASSERT_EQ(items.size(), 6u);
  EXPECT_TRUE(llvm::cast<LinearDecl>(*items[0]).bias);
  EXPECT_FALSE(llvm::cast<LinearDecl>(*items[2]).bias);
  EXPECT_TRUE(llvm::cast<LinearDecl>(*items[4]).bias);
}

TEST(Parser, ClausesOfArguments) {
  Parsed parsed(
      "attn 1 model M { param p: [A] = slice(\"w\", 1 to A + 1 of N)\n"
      "entry run(x: [T]) -> [T] {"
      " return f(T from 1 to 5 as S, D as A, B, Y by -s, T at i + 1, x where a and b) } }");
  EXPECT_EQ(parsed.errors(), "");
  auto &items = llvm::cast<ModelDecl>(*parsed.file->items.at(0)).items;
  const Binding &binding = llvm::cast<ParamDecl>(*items.at(0)).groups.at(0).binding;
  EXPECT_EQ(binding.kind, Binding::Kind::Slice);
  EXPECT_EQ(parsed.source.text(binding.to->range), "A + 1");
  EXPECT_EQ(parsed.source.text(binding.of->range), "N");
  auto &ret = llvm::cast<ReturnStmt>(*llvm::cast<EntryDecl>(*items.at(1)).items.at(0));
  std::string clauses;
  for (const Argument &argument : llvm::cast<CallExpr>(*ret.values.at(0)).arguments) {
    clauses += parsed.source.text(argument.value->range);
    for (auto [word, clause] : argument.clauses())
      clauses += "|" + word.str() + "|" + parsed.source.text(clause->range).str();
    clauses += argument.isPlain() ? ". " : "; ";
  }
  EXPECT_EQ(clauses, "T|from|1|to|5|as|S; D|as|A; B. Y|by|-s; T|at|i + 1; x|where|a and b; ");
}

TEST(Parser, WordsOfDeclarationsAreNamesElsewhere) {
  Parsed parsed(
      "attn 1 model M { entry run(image: f32[B], state: f32[B], input: f32[B]) -> f32[B] {"
      " let table = image + state let mask = table return mask * input } }");
  EXPECT_EQ(parsed.errors(), "");
}

TEST(Parser, AllErrorsOfAFile) {
  Parsed parsed(
      "model {\n dim D = \n dim E 4\n entry run(x [B]) -> [B] {\n let y = f(x\n return y z\n }\n");
  EXPECT_EQ(parsed.codes(), "A0001 A0106 A0102 A0110 A0123 A0124 A0103 A0105");
}

TEST(Parser, ATreeRemainsAroundErrors) {
  Parsed parsed("attn 1 model M { dim A = 1, = 2 dim D = 3 @ block B(x: [A]) -> [A] { let y = "
                "return x } dim E = 4 }");
  EXPECT_TRUE(parsed.diagnostics.hasErrors());
  auto &items = llvm::cast<ModelDecl>(*parsed.file->items.at(0)).items;
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(llvm::cast<BlockDecl>(*items[2]).items.size(), 2u);
  EXPECT_EQ(llvm::cast<DimDecl>(*items[3]).entries.at(0).name.text, "E");
}

TEST(Parser, GarbageBeforeTheVersion) {
  EXPECT_EQ(Parsed("$ model M {}").codes(), "A0003");
  EXPECT_EQ(Parsed("attn $ 2 model M {}").codes(), "A0003");
  EXPECT_EQ(Parsed("attn $ model M {}").codes(), "A0003");
}

TEST(Parser, EmptyFiles) {
  for (const char *text : {"", "\n", "// nothing", "\xEF\xBB\xBF"})
    EXPECT_EQ(Parsed(text).codes(), "A0001");
}

/// Depth that would overflow the stack of a parser, or of whoever walks or destroys its tree.
TEST(Parser, DepthIsBounded) {
  const size_t many = 50000;
  auto repeat = [&](llvm::StringRef piece) {
    std::string text;
    for (size_t i = 0; i < many; ++i)
      text += piece;
    return text;
  };
  for (const std::string &expression :
       {repeat("("), repeat("-") + "x", repeat("not ") + "x", "x" + repeat(" + x"),
        "x" + repeat("(x)"), "x" + repeat(" ** x"), repeat("if a then b else ") + "c",
        repeat("f(") + "x", repeat("x[") + "x", repeat("attend x over ") + "x", "x" + repeat("[x]"),
        repeat("scan ") + "x"}) {
    Parsed parsed("attn 1\nmask m(i) = " + expression + "\nmask n(i) = i\n");
    EXPECT_NE(parsed.codes().find("A0111"), std::string::npos) << expression.substr(0, 20);
    EXPECT_LE(parsed.diagnostics.errorCount(), 3u) << expression.substr(0, 20);
  }
  // Bodies do not nest, so these end for other reasons.
  for (llvm::StringRef head :
       {"model M { ", "block M(x: [B]) -> [B] { ", "entry e(x: [B]) -> [B] { "})
    for (const std::string &text :
         {"attn 1 " + repeat(head), "attn 1 " + repeat(head) + repeat("}")}) {
      Parsed parsed(text);
      EXPECT_TRUE(parsed.diagnostics.hasErrors());
      EXPECT_LE(parsed.diagnostics.errorCount(), 102u);
    }
}
