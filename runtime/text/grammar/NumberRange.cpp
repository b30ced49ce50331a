// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers between two bounds, digit by digit: where a digit is above that of the least, all digits
// behind it are free.
#include "text/grammar/SchemaReader.h"
#include <algorithm>
#include <cstdio>

using namespace attn;
using namespace attn::grammar;

/// Digits of a bound before the point, and behind it, at most.
static constexpr size_t mostWhole = 18, mostPart = 22;
/// Digits of a multiple, at most: those that numbers of 64 bits tell apart.
static constexpr uint32_t mostMultiple = 15;

namespace {

/// A bound: its sign, the digits before the point and those behind it, without zeros at the end.
struct Bound {
  bool exists = false, isNegative = false, isOut = false;
  int64_t whole = 0;
  Slice fraction;
  bool isZero() const { return whole == 0 && fraction.size == 0; }
};

/// Makes expressions of magnitudes between two bounds, neither of which has a sign.
class RangeMaker {
public:
  RangeMaker(JsonParts &parts, Expressions &to, bool isInteger)
      : parts(parts), to(to), isInteger(isInteger) {}
  Id magnitudes(const Bound &least, const Bound &most);

private:
  /// Whole numbers from `least` to `most`; -1: without an end.
  Id wholes(int64_t least, int64_t most);
  Id sameLength(const char *least, const char *most, size_t count);
  Id free(size_t count) { return parts.digits(uint32_t(count), uint32_t(count)); }
  Id range(int first, int last) {
    return first > last ? to.never()
                        : to.byteRange(static_cast<unsigned char>('0' + first),
                                       static_cast<unsigned char>('0' + last));
  }
  Id some(bool isFirst = false) {
    return parts.digits(isFirst, JsonParts::mostFraction - mostPart);
  }
  Id zeros(uint32_t least) {
    return to.repeat(to.byte('0'), least, JsonParts::mostFraction - mostPart);
  }
  Id anyFraction();
  /// What stands behind the point, `isFirst`, where some digit is, or behind digits there: not
  /// below, not above, or both.
  Id above(Slice least, bool isOut, bool isFirst);
  Id below(Slice most, bool isOut, bool isFirst);
  Id between(const Bound &least, const Bound &most, bool isFirst);
  /// The same with the point, which is left out where nothing is behind it.
  Id fraction(Id digits, bool mayBeNone) {
    Id some = to.sequence(to.byte('.'), digits);
    return mayBeNone ? to.choice({to.empty(), some}) : some;
  }

  JsonParts &parts;
  Expressions &to;
  bool isInteger;
};

} // namespace

Id RangeMaker::sameLength(const char *least, const char *most, size_t count) {
  if (count == 0)
    return to.empty();
  static const char zero[] = "0000000000000000000", nine[] = "9999999999999999999";
  if (memcmp(least, zero, count) == 0 && memcmp(most, nine, count) == 0)
    return free(count);
  int low = *least - '0', high = *most - '0';
  if (low == high)
    return to.sequence(range(low, low), sameLength(least + 1, most + 1, count - 1));
  return to.choice({to.sequence(range(low, low), sameLength(least + 1, nine, count - 1)),
                    to.sequence(range(low + 1, high - 1), free(count - 1)),
                    to.sequence(range(high, high), sameLength(zero, most + 1, count - 1))});
}

Id RangeMaker::wholes(int64_t least, int64_t most) {
  if (most >= 0 && least > most)
    return to.never();
  char low[24], high[24];
  auto lowSize = size_t(snprintf(low, sizeof low, "%lld", static_cast<long long>(least)));
  auto highSize = size_t(snprintf(high, sizeof high, "%lld", static_cast<long long>(most)));
  size_t last = most < 0 ? lowSize : highSize;
  Vector<Id> ways;
  for (size_t size = lowSize; size <= last; ++size) {
    char from[24] = "1000000000000000000", until[24] = "9999999999999999999";
    if (size == lowSize)
      memcpy(from, low, size);
    if (size == highSize && most >= 0)
      memcpy(until, high, size);
    if (!ways.push(sameLength(from, until, size)))
      return to.never();
  }
  if (most < 0 && !ways.push(to.sequence(
                      range(1, 9), parts.digits(uint32_t(lowSize), JsonParts::mostDigits - 1))))
    return to.never();
  return to.choice(ways.data(), ways.size());
}

Id RangeMaker::anyFraction() {
  return isInteger ? to.empty() : fraction(parts.digits(1, JsonParts::mostFraction), true);
}

Id RangeMaker::above(Slice least, bool isOut, bool isFirst) {
  if (least.size == 0)
    return isOut ? to.sequence({zeros(0), range(1, 9), some()}) : some(isFirst);
  int digit = *least.data - '0';
  return to.choice({to.sequence(range(digit + 1, 9), some()),
                    to.sequence(range(digit, digit), above(least.from(1), isOut, false))});
}

Id RangeMaker::below(Slice most, bool isOut, bool isFirst) {
  if (most.size == 0)
    return isOut ? to.never() : zeros(isFirst);
  int digit = *most.data - '0';
  return to.choice({isFirst ? to.never() : to.empty(), to.sequence(range(0, digit - 1), some()),
                    to.sequence(range(digit, digit), below(most.from(1), isOut, false))});
}

Id RangeMaker::between(const Bound &least, const Bound &most, bool isFirst) {
  Bound lows = least, highs = most;
  Slice &low = lows.fraction, &high = highs.fraction;
  if (low.size == 0 && high.size == 0)
    return least.isOut || most.isOut ? to.never() : zeros(isFirst);
  int first = low.size ? *low.data - '0' : 0, last = high.size ? *high.data - '0' : 0;
  Id end = low.size == 0 && !least.isOut && !isFirst ? to.empty() : to.never();
  low = low.from(low.size ? 1 : 0);
  high = high.from(high.size ? 1 : 0);
  if (first > last)
    return end;
  if (first == last)
    return to.choice({end, to.sequence(range(first, first), between(lows, highs, false))});
  return to.choice({end, to.sequence(range(first, first), above(low, least.isOut, false)),
                    to.sequence(range(first + 1, last - 1), some()),
                    to.sequence(range(last, last), below(high, most.isOut, false))});
}

Id RangeMaker::magnitudes(const Bound &least, const Bound &most) {
  bool isFromZero = least.fraction.size == 0 && !least.isOut;
  if (isInteger) {
    // Of whole numbers, a bound that is left out is the next one.
    int64_t low = least.whole + (isFromZero ? 0 : 1);
    int64_t high = most.whole - (most.isOut && most.fraction.size == 0);
    return most.exists && high < low ? to.never() : wholes(low, most.exists ? high : -1);
  }
  auto number = [&](int64_t whole, Id rest) { return to.sequence(wholes(whole, whole), rest); };
  if (most.exists && (least.whole > most.whole))
    return to.never();
  if (most.exists && least.whole == most.whole) {
    bool mayBeNone = isFromZero && (most.fraction.size || !most.isOut);
    return number(least.whole, fraction(between(least, most, true), mayBeNone));
  }
  Id from =
      number(least.whole, isFromZero ? anyFraction()
                                     : fraction(above(least.fraction, least.isOut, true), false));
  Id middle = most.exists
                  ? (most.whole - 1 >= least.whole + 1 ? wholes(least.whole + 1, most.whole - 1)
                                                       : to.never())
                  : wholes(least.whole + 1, -1);
  Id until = to.never();
  if (most.exists && (most.fraction.size || !most.isOut))
    until = number(most.whole, fraction(below(most.fraction, most.isOut, true), true));
  return to.choice({from, to.sequence(middle, anyFraction()), until});
}

/// Reads a bound; false where it has an exponent or too many digits.
static bool readBound(Slice text, bool isOut, Bound &bound) {
  bound.exists = text.data != nullptr;
  bound.isOut = isOut;
  if (!bound.exists)
    return true;
  bound.isNegative = text.startsWith(Slice("-"));
  text = text.from(bound.isNegative);
  size_t whole = 0;
  for (; whole < text.size && text.data[whole] >= '0' && text.data[whole] <= '9'; ++whole) {
    if (whole >= mostWhole)
      return false;
    bound.whole = 10 * bound.whole + (text.data[whole] - '0');
  }
  bound.fraction = text.from(whole);
  if (bound.fraction.startsWith(Slice(".")))
    bound.fraction = bound.fraction.from(1);
  for (size_t i = 0; i < bound.fraction.size; ++i)
    if (bound.fraction.data[i] < '0' || bound.fraction.data[i] > '9')
      return false;
  while (bound.fraction.endsWith(Slice("0")))
    --bound.fraction.size;
  if (bound.isZero())
    bound.isNegative = false;
  return bound.fraction.size <= mostPart;
}

bool grammar::compileRange(JsonParts &parts, Expressions &to, Slice leastText, bool isLeastOut,
                           Slice mostText, bool isMostOut, bool isInteger, Id &result) {
  Bound least, most, zero;
  if (!readBound(leastText, isLeastOut, least) || !readBound(mostText, isMostOut, most))
    return false;
  RangeMaker maker(parts, to, isInteger);
  Id positive = to.never(), negative = to.never();
  zero.exists = true;
  bool hasPositive = !(most.exists && most.isNegative);
  bool hasNegative = !least.exists || least.isNegative;
  if (hasPositive)
    positive = maker.magnitudes(least.exists && !least.isNegative ? least : zero, most);
  if (hasNegative) {
    // Below zero, the bounds change places; zero itself has no sign.
    Bound nearest = zero;
    nearest.isOut = true;
    negative = to.sequence(
        to.byte('-'), maker.magnitudes(most.exists && most.isNegative ? most : nearest, least));
  }
  result = to.choice({positive, negative});
  return true;
}

bool grammar::compileMultiple(JsonParts &parts, Expressions &to, Slice factor, bool isInteger,
                              Id &result) {
  Bound bound;
  if (!readBound(factor, false, bound) || bound.isNegative || bound.isZero())
    return false;
  Id minus = to.optional(to.byte('-'));
  if (bound.whole == 0) {
    // 0.01: as many digits behind the point, and zeros.
    for (size_t i = 0; i < bound.fraction.size; ++i)
      if (bound.fraction.data[i] != (i + 1 == bound.fraction.size ? '1' : '0'))
        return false;
    Id digits = parts.digits(1, uint32_t(bound.fraction.size));
    result = isInteger
                 ? parts.integer()
                 : to.sequence(parts.integer(), to.optional(to.sequence(to.byte('.'), digits)));
    return true;
  }
  if (bound.fraction.size || bound.whole > 1000)
    return false;
  // A rule for each remainder and number of digits that may follow.
  auto count = uint32_t(bound.whole);
  Vector<uint32_t> rules;
  for (uint32_t i = 0; i < count * mostMultiple && !to.problem; ++i)
    if (!rules.push(to.addRule(Slice("multiple"))))
      return false;
  if (to.problem)
    return true;
  auto next = [&](uint32_t remainder, uint32_t digits, unsigned first, Id end) {
    Vector<Id> ways;
    for (unsigned digit = first; digits && digit < 10; ++digit) {
      uint32_t rule = (digits - 1) * count + (10 * remainder + digit) % count;
      if (!ways.push(
              to.sequence(to.byte(static_cast<unsigned char>('0' + digit)), to.rule(rules[rule]))))
        return to.never();
    }
    return ways.push(end) ? to.choice(ways.data(), ways.size()) : to.never();
  };
  for (uint32_t i = 0; i < rules.size(); ++i)
    to.define(rules[i], next(i % count, i / count, 0, i % count ? to.never() : to.empty()));
  result = to.sequence(minus, to.choice({to.byte('0'), next(0, mostMultiple, 1, to.never())}));
  return true;
}
