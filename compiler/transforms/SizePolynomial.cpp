// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on sizes.
#include "compiler/transforms/SizePolynomial.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;
using namespace attn;

SizePolynomial::SizePolynomial(int64_t constant) {
  if (constant)
    terms[{}] = constant;
}

SizePolynomial SizePolynomial::dim(StringRef name) {
  SizePolynomial result;
  result.terms[{name.str()}] = 1;
  return result;
}

SizePolynomial SizePolynomial::operator+(const SizePolynomial &other) const {
  SizePolynomial result = *this;
  for (auto &[monomial, coefficient] : other.terms)
    if ((result.terms[monomial] += coefficient) == 0)
      result.terms.erase(monomial);
  return result;
}

SizePolynomial SizePolynomial::operator*(const SizePolynomial &other) const {
  SizePolynomial result;
  for (auto &[left, a] : terms)
    for (auto &[right, b] : other.terms) {
      Monomial product(left);
      product.insert(product.end(), right.begin(), right.end());
      std::sort(product.begin(), product.end());
      result.terms[product] += a * b;
    }
  return result;
}

SizePolynomial SizePolynomial::with(StringRef dim, const SizePolynomial &value) const {
  SizePolynomial result;
  for (auto &[monomial, coefficient] : terms) {
    SizePolynomial term(coefficient);
    for (const std::string &name : monomial)
      term = term * (name == dim ? value : SizePolynomial::dim(name));
    result = result + term;
  }
  return result;
}

SizePolynomial SizePolynomial::of(ArrayAttr attribute) {
  SizePolynomial result;
  for (auto term : attribute.getAsRange<ArrayAttr>()) {
    SizePolynomial product(cast<IntegerAttr>(term[0]).getInt());
    for (Attribute name : term.getValue().drop_front())
      product = product * dim(cast<StringAttr>(name).getValue());
    result = result + product;
  }
  return result;
}

int64_t SizePolynomial::at(function_ref<int64_t(StringRef)> size) const {
  int64_t sum = 0;
  for (auto &[monomial, coefficient] : terms) {
    int64_t product = coefficient;
    for (const std::string &name : monomial)
      if (llvm::MulOverflow(product, size(name), product))
        product = INT64_MAX;
    if (llvm::AddOverflow(sum, product, sum))
      sum = INT64_MAX;
  }
  return sum;
}

SizePolynomial SizePolynomial::dividedBy(int64_t divisor) const {
  SizePolynomial result;
  for (auto &[monomial, coefficient] : terms)
    if (int64_t quotient = coefficient / divisor)
      result.terms[monomial] = quotient;
  return result;
}

std::string SizePolynomial::text() const {
  std::string text;
  auto write = [&](bool areNegative) {
    for (auto &[monomial, coefficient] : llvm::reverse(terms)) {
      if ((coefficient < 0) != areNegative)
        continue;
      text += areNegative ? (text.empty() ? "-" : " - ") : (text.empty() ? "" : " + ");
      int64_t size = std::abs(coefficient);
      if (size != 1 || monomial.empty())
        text += std::to_string(size) + (monomial.empty() ? "" : " * ");
      text += llvm::join(monomial, " * ");
    }
  };
  write(/*areNegative=*/false), write(/*areNegative=*/true);
  return text.empty() ? "0" : text;
}

bool SizePolynomial::isConstant() const {
  return terms.empty() || (terms.size() == 1 && terms.begin()->first.empty());
}

int64_t SizePolynomial::constant() const { return terms.empty() ? 0 : terms.begin()->second; }

SizePolynomial SizePolynomial::upperBound(const SizePolynomial &a, const SizePolynomial &b) {
  SizePolynomial result = a;
  for (auto &[monomial, coefficient] : b.terms) {
    int64_t &own = result.terms[monomial];
    own = std::max(own, coefficient);
  }
  return result;
}

bool SizePolynomial::isNeverNegative() const {
  // In what each dim is more than 1, no coefficient is negative.
  SizePolynomial shifted;
  for (auto &[monomial, coefficient] : terms) {
    SizePolynomial term(coefficient);
    for (const std::string &name : monomial)
      term = term * (SizePolynomial(1) + SizePolynomial::dim(name));
    shifted = shifted + term;
  }
  return llvm::all_of(shifted.terms, [](auto &term) { return term.second >= 0; });
}

std::pair<SizePolynomial::Monomial, int64_t> SizePolynomial::leading() const {
  auto isBefore = [](auto &a, auto &b) {
    return std::pair(a.first.size(), a.first) < std::pair(b.first.size(), b.first);
  };
  auto found = std::max_element(terms.begin(), terms.end(), isBefore);
  return *found;
}

SizePolynomial SizePolynomial::remainder(const SizePolynomial &divisor) const {
  auto [names, factor] = divisor.leading();
  SizePolynomial rest = *this, result;
  while (!rest.terms.empty()) {
    auto [own, coefficient] = rest.leading();
    SizePolynomial term;
    term.terms[own] = coefficient;
    int64_t multiple = coefficient / factor;
    if (!multiple || !std::includes(own.begin(), own.end(), names.begin(), names.end())) {
      result = result + term;
      rest = rest - term;
      continue;
    }
    SizePolynomial quotient;
    Monomial others;
    std::set_difference(own.begin(), own.end(), names.begin(), names.end(),
                        std::back_inserter(others));
    quotient.terms[others] = multiple;
    rest = rest - quotient * divisor;
    // What is left of this monomial is less than the divisor.
    if (auto left = rest.terms.find(own); left != rest.terms.end()) {
      SizePolynomial kept;
      kept.terms[own] = left->second;
      result = result + kept;
      rest = rest - kept;
    }
  }
  return result;
}

Value SizePolynomial::emit(OpBuilder &builder, Location loc,
                           function_ref<Value(StringRef)> dim) const {
  Value sum;
  for (auto &[monomial, coefficient] : terms) {
    Value product;
    for (const std::string &name : monomial)
      product = product ? builder.createOrFold<arith::MulIOp>(loc, product, dim(name)) : dim(name);
    if (!product || coefficient != 1) {
      Value factor = arith::ConstantIndexOp::create(builder, loc, coefficient);
      product = product ? builder.createOrFold<arith::MulIOp>(loc, product, factor) : factor;
    }
    sum = sum ? builder.createOrFold<arith::AddIOp>(loc, sum, product) : product;
  }
  return sum ? sum : arith::ConstantIndexOp::create(builder, loc, 0);
}

ArrayAttr SizePolynomial::attribute(Builder builder) const {
  SmallVector<Attribute> sum;
  for (auto &[monomial, coefficient] : terms) {
    SmallVector<Attribute> term{builder.getI64IntegerAttr(coefficient)};
    for (const std::string &name : monomial)
      term.push_back(builder.getStringAttr(name));
    sum.push_back(builder.getArrayAttr(term));
  }
  return builder.getArrayAttr(sum);
}
