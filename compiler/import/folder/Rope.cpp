// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of rope in a config.json, as transformers 4 and 5 write them -> arguments of `rotary`.
#include "compiler/import/folder/Rope.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

Rotation RopeReader::read(Config &inner, std::optional<double> base) {
  Rotation rotation;
  std::optional<double> own = base ? base : config.number("rope_theta");
  if (!own)
    own = inner.number("rope_theta");
  if (!own)
    config.note("`config.json` says no `rope_theta`, neither by itself nor in `rope_parameters`: "
                "10000, the default of the published class");
  rotation.base = own.value_or(10000);
  std::string type = inner.text("rope_type", inner.text("type", "default"));
  StringRef place = config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  auto factor = [&](StringRef key) {
    std::optional<double> value = inner.number(key);
    if (!value)
      config.refuse(place, "a `" + key + "` in it, for the type `" + Twine(type) + "`");
    return numberText(value.value_or(1));
  };
  if (type == "linear")
    rotation.scaling = ", factor = " + factor("factor");
  else if (type == "llama3")
    rotation.scaling = ", factor = " + factor("factor") +
                       ", low_freq_factor = " + factor("low_freq_factor") +
                       ", high_freq_factor = " + factor("high_freq_factor") +
                       ", original_length = " + factor("original_max_position_embeddings");
  else if (type == "yarn")
    readYarn(inner, rotation);
  else if (type == "longrope" || type == "su") // as it was called first
    readLongRope(inner, rotation);
  else if (type != "default")
    config.refuse(place, "the type `default`, `linear`, `llama3`, `longrope` or `yarn`",
                  "write the angles as a `table` and give them to `rotary(x, half, angles = …)`");
  config.adopt(inner);
  return rotation;
}

void RopeReader::readYarn(Config &from, Rotation &own) {
  double factor = from.number("factor").value_or(0), fast = from.number("beta_fast").value_or(32),
         slow = from.number("beta_slow").value_or(1);
  int64_t original = from.size("original_max_position_embeddings", positions);
  if (!(factor >= 1) || !(fast > slow) || !(slow > 0)) {
    config.refuse("rope_scaling",
                  "of the type `yarn` a `factor` of at least 1, and a `beta_fast` of "
                  "more than `beta_slow`");
    return;
  }
  // The pair that turns so many times in the original length.
  auto pairOf = [&](double turns) {
    return double(turnedFeatures) * std::log(double(original) / (turns * 2 * M_PI)) /
           (2 * std::log(own.base));
  };
  double low = pairOf(fast), high = pairOf(slow);
  if (from.flag("truncate", true))
    low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, double(turnedFeatures - 1));
  if (low == high)
    high += 0.001;
  double mscale = from.number("mscale").value_or(0),
         all = from.number("mscale_all_dim").value_or(0);
  auto strengthOf = [&](double weight) { return 0.1 * weight * std::log(factor) + 1; };
  own.strength = mscale && all ? strengthOf(mscale) / strengthOf(all) : strengthOf(1);
  own.strength = from.number("attention_factor").value_or(own.strength);
  own.rule = "YaRN";
  own.slowing = "1 - (1 - 1 / " + numberText(factor) + ") * clamp((p - " + numberText(low) +
                ") / " + numberText(high - low) + ", 0, 1)";
}

/// The number of a list at `p`: a choice between runs of equal ones.
static std::string chosenOf(ArrayRef<double> numbers) {
  std::string text;
  for (size_t i = 0; i + 1 < numbers.size(); ++i)
    if (numbers[i] != numbers[i + 1])
      text += "if p < " + std::to_string(i + 1) + " then " + numberText(numbers[i]) + " else ";
  return text + numberText(numbers.back());
}

void RopeReader::readLongRope(Config &from, Rotation &own) {
  std::vector<double> brief = from.numbers("short_factor"), wide = from.numbers("long_factor");
  Config &where = config.has("original_max_position_embeddings") ? config : from;
  own.shortLength = where.size("original_max_position_embeddings");
  if (own.shortLength < 2) // whose logarithm divides
    where.refuse("original_max_position_embeddings", "at least 2 positions");
  auto isWrong = [&](const std::vector<double> &factors) {
    return int64_t(factors.size()) != turnedFeatures / 2 ||
           llvm::any_of(factors, [](double factor) { return !(factor > 0); });
  };
  if (isWrong(brief) || isWrong(wide)) {
    StringRef key = isWrong(brief) ? "short_factor" : "long_factor";
    from.refuse(key, "a number above 0 for each of " + Twine(turnedFeatures / 2) + " pairs");
    return;
  }
  double factor = double(positions) / double(own.shortLength);
  if (&where == &from)
    factor = from.number("factor").value_or(factor);
  own.strength =
      factor > 1 ? std::sqrt(1 + std::log(factor) / std::log(double(own.shortLength))) : 1;
  own.strength = from.number("attention_factor").value_or(own.strength);
  own.rule = "LongRoPE";
  own.slowing = "1 / (if C > " + std::to_string(own.shortLength) + " then (" + chosenOf(wide) +
                ") else (" + chosenOf(brief) + "))";
}

std::string RopeReader::scalingOf(const std::vector<double> &factors, double base) {
  // The published models of Llama 3.1 and later, which differ in the factor alone.
  constexpr double low = 1, high = 4, original = 8192;
  double most = *llvm::max_element(factors);
  for (auto [p, given] : llvm::enumerate(factors)) {
    double angle = std::pow(base, -double(p) / double(factors.size())),
           turns = original * angle / (2 * M_PI),
           share = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    double factor = 1 / ((1 - share) / most + share);
    if (!(std::abs(factor - given) <= 1e-4 * factor)) {
      config.refuse("rope_freqs.weight", "the factors of Llama 3's rule",
                    "write the angles as a `table` and give them to `rotary(x, interleaved, angles "
                    "= …)`");
      break;
    }
  }
  return ", factor = " + numberText(most) + ", low_freq_factor = 1, high_freq_factor = 4, " +
         "original_length = 8192";
}

} // namespace attn::importer
