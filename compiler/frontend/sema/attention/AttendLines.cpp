// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lines of an attend: which hooks it has, what makes weights of its scores, what it returns.
#include "compiler/frontend/sema/attention/AttendLines.h"
#include "compiler/frontend/sema/expressions/Functions.h"

#include "llvm/ADT/StringSwitch.h"

namespace attn::frontend {

using namespace ast;

/// The word that an expression is; empty where it is something else.
static std::string wordOf(const Expr &expr) {
  auto *path = llvm::dyn_cast<PathExpr>(&expr);
  return path ? path->path.str() : "";
}

static constexpr std::pair<llvm::StringLiteral, Normaliser> normalisers[] = {
    {"softmax", Normaliser::Softmax}, {"sigmoid", Normaliser::Sigmoid}, {"relu", Normaliser::Relu},
    {"hardmax", Normaliser::Hardmax}, {"none", Normaliser::Identity},
};

std::vector<llvm::StringRef> weightNames() {
  std::vector<llvm::StringRef> names;
  for (const auto &[name, normaliser] : normalisers)
    names.push_back(name);
  return names;
}

static bool readWeight(Sema &sema, const Expr &weight, AttendHooks &hooks) {
  auto *call = llvm::dyn_cast<CallExpr>(&weight);
  if (call && wordOf(*call->callee) == "dropout") {
    const Expr *kept = droppedOut(sema, *call);
    return kept && readWeight(sema, *kept, hooks);
  }
  auto *over = llvm::dyn_cast<BinaryExpr>(&weight);
  std::string word = wordOf(call ? *call->callee : over ? *over->left : weight);
  if (over && over->op == BinaryOp::Divide && word == "relu" && wordOf(*over->right) == "n") {
    hooks.normaliser = Normaliser::ReluMean;
    return true;
  }
  auto *known = over ? std::end(normalisers)
                     : llvm::find_if(normalisers, [&](auto &row) { return row.first == word; });
  bool isKnown = known != std::end(normalisers);
  bool isSink = call && word == "softmax" && call->arguments.size() == 1 &&
                call->arguments[0].name && call->arguments[0].name->text == "sink";
  if (!isKnown || (call && !isSink)) {
    Diagnostic &diagnostic =
        sema.report.error(DiagCode::UnknownWeight, weight.range,
                          "`" + sema.source.text(weight.range) + "` makes no weights of scores");
    auto near = nearestName(word, weightNames());
    if (call && isKnown)
      diagnostic.help(
          "weights are made along the keys, whose axis is not said again: write `weight " + word +
              "`",
          Edit{weight.range, word});
    else if (near && *near != word)
      diagnostic.didYouMean(*near);
    else
      diagnostic.note("weights are softmax, softmax(sink = s[h]), sigmoid, relu, relu / n (of the "
                      "number of keys), hardmax or none, and dropout(softmax, p)");
    return false;
  }
  hooks.normaliser = known->second;
  if (isSink)
    hooks.sink = call->arguments[0].value.get();
  return true;
}

static bool readReturned(Sema &sema, const AttendItem &item, AttendHooks &hooks) {
  hooks.returned.clear();
  std::map<std::string, SourceRange> seen;
  for (const ExprPtr &value : item.values) {
    auto *call = llvm::dyn_cast<CallExpr>(value.get());
    std::string word = wordOf(call ? *call->callee : *value);
    std::string stage =
        call && word == "scores" && call->arguments.size() == 1 && call->arguments[0].isPlain()
            ? wordOf(*call->arguments[0].value)
            : "";
    auto kind = llvm::StringSwitch<std::optional<Returned>>(call ? "" : word)
                    .Case("lse", Returned::LogSumExp)
                    .Case("weights", Returned::Weights)
                    .Default(llvm::StringSwitch<std::optional<Returned>>(stage)
                                 .Case("raw", Returned::Raw)
                                 .Case("biased", Returned::Biased)
                                 .Case("capped", Returned::Capped)
                                 .Default(std::nullopt));
    if (!kind && (call || word != "out")) {
      sema.report
          .error(DiagCode::UnknownReturned, value->range,
                 "`" + sema.source.text(value->range) + "` is nothing that an attention returns")
          .note("it returns out, lse, weights, scores(raw), scores(biased) or scores(capped)");
      return false;
    }
    std::string text = sema.source.text(value->range).str();
    if (auto [it, first] = seen.insert({text, value->range}); !first) {
      sema.report.error(DiagCode::DuplicateHook, value->range, "`" + text + "` is returned twice")
          .at(it->second, "here");
      return false;
    }
    hooks.returned.push_back(kind);
  }
  return true;
}

bool readHooks(Sema &sema, const AttendExpr &attend, AttendHooks &hooks) {
  bool fine = true;
  std::map<AttendItem::Kind, SourceRange> seen;
  for (const AttendItem &item : attend.body) {
    if (auto [it, first] = seen.insert({item.kind, item.keyword}); !first) {
      sema.report
          .error(DiagCode::DuplicateHook, item.keyword,
                 "this attention has a `" + spelling(item.kind) + "` already")
          .at(it->second, "here");
      fine = false;
      continue;
    }
    const Expr &value = *item.values.front();
    bool isNone = wordOf(value) == "none";
    if (llvm::any_of(item.values, [](auto &part) { return llvm::isa<ErrorExpr>(*part); })) {
      fine = false;
      continue;
    }
    switch (item.kind) {
    case AttendItem::Kind::Score:
      hooks.score = &value;
      break;
    case AttendItem::Kind::Bias:
      hooks.bias = isNone ? nullptr : &value;
      break;
    case AttendItem::Kind::Mask:
      hooks.mask = isNone ? nullptr : &value;
      hooks.saysMask = true;
      break;
    case AttendItem::Kind::Cap:
      hooks.cap = &value;
      break;
    case AttendItem::Kind::Weight:
      hooks.weight = value.range;
      fine &= readWeight(sema, value, hooks);
      break;
    case AttendItem::Kind::Return:
      fine &= readReturned(sema, item, hooks);
      break;
    }
  }
  bool hasLse = llvm::is_contained(hooks.returned, std::optional(Returned::LogSumExp));
  if (fine && hasLse && hooks.normaliser != Normaliser::Softmax) {
    sema.report
        .error(DiagCode::UnknownReturned, seen.at(AttendItem::Kind::Return),
               "`lse` is of softmax alone")
        .at(seen.at(AttendItem::Kind::Weight), "but weights are made so");
    fine = false;
  }
  return fine;
}

} // namespace attn::frontend
