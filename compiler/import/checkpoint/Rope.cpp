// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of rope in a config.json, as transformers 4 and 5 write them -> arguments of `rotary`.
#include "compiler/import/checkpoint/Rope.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

std::string Rotation::applied(StringRef what, StringRef pairs, StringRef table,
                              StringRef part) const {
  std::string features = part.empty() ? "" : ", features = " + part.str();
  if (slowing.empty())
    return ("rotary(" + what + ", T, " + pairs + features + ", base = " + numberText(base) +
            scaling + ")")
        .str();
  return ("rotary(" + what + ", " + pairs + ", angles = " + table + features +
          (strength != 1 ? ", attention_factor = " + numberText(strength) : "") + ")")
      .str();
}

std::string Rotation::tableLine(StringRef name, StringRef size) const {
  if (slowing.empty())
    return "";
  return ("table " + name + "[t: T, p: " + size + "/2] = t * " + numberText(base) +
          " ** (-2 * p / " + size + ") * (" + slowing + ")  // angles, by " + rule + "\n")
      .str();
}

void Rotation::turnBack() {
  slowing = slowing.empty() ? "-1" : "-(" + slowing + ")";
  rule = rule.empty() ? "turning the other way round" : rule + ", the other way round";
}

Rotation RopeReader::read(Config &inner, StringRef baseKey, double otherwise) {
  Rotation rotation;
  rotation.base = readBase(inner, baseKey, otherwise);
  rotation.turned = readPart(inner);
  readScaling(inner, rotation);
  config.adopt(inner);
  return rotation;
}

double RopeReader::readBase(Config &inner, StringRef baseKey, double otherwise) {
  std::optional<double> own = inner.number("rope_theta"), outer = config.number(baseKey);
  if (own && outer && *own != *outer)
    config.note("`" + baseKey + "` is " + numberText(*outer) + ", and " + numberText(*own) +
                " in the values of rope, which count in the published class");
  if (!own && !outer)
    config.note("`config.json` says no `" + baseKey +
                "`, neither by itself nor in `rope_parameters`: " + numberText(otherwise) +
                ", the default of the published class");
  return own ? *own : outer.value_or(otherwise);
}

int64_t RopeReader::readPart(Config &inner) {
  StringRef key = "partial_rotary_factor";
  std::optional<double> own = inner.number(key), outer = config.number(partKey);
  Config &where = own ? inner : config;
  if (own && outer && *own != *outer)
    config.note("`" + partKey + "` is " + numberText(*outer) + ", and " + numberText(*own) +
                " in the values of rope, which count in the published class");
  double part = own ? *own : outer.value_or(this->part);
  auto turned = static_cast<int64_t>(double(features) * part);
  if (!hasParts && turned != features && typeOf(inner) == "default") {
    config.note("`partial_rotary_factor` is left out, as the published class of this model leaves "
                "it out: it turns whole heads");
    return features;
  }
  if (!hasParts && turned != features)
    where.refuse(own ? key : partKey, "1: the published class of this model turns whole heads");
  if (turned < 2 || turned > features || turned % 2)
    where.refuse(own ? key : partKey,
                 "a part of the head with an even number of features, of the " + Twine(features) +
                     " that `head_dim` or `num_attention_heads` gives it");
  return turned;
}

std::string RopeReader::typeOf(Config &inner) {
  return inner.text("rope_type", inner.text("type", "default"));
}

int64_t RopeReader::originalOf(Config &inner) {
  StringRef key = "original_max_position_embeddings";
  int64_t inside = inner.size(key, positions); // read, so that it counts as read
  return isOriginalBeside() ? config.size(key, original) : inside;
}

bool RopeReader::isOriginalBeside() const {
  return original || config.has("original_max_position_embeddings");
}

void RopeReader::readScaling(Config &inner, Rotation &own) {
  std::string type = typeOf(inner);
  auto factor = [&](StringRef key) {
    std::optional<double> value = inner.number(key);
    if (!value)
      inner.refuse(key, "a number, for the type `" + Twine(type) + "`");
    return numberText(value.value_or(1));
  };
  if (type == "linear") {
    own.scaling = ", factor = " + factor("factor");
  } else if (type == "llama3" && inner.number("low_freq_factor") &&
             inner.number("low_freq_factor") == inner.number("high_freq_factor")) {
    readSteps(inner, own);
  } else if (type == "llama3") {
    int64_t original = originalOf(inner);
    own.scaling = ", factor = " + factor("factor") +
                  ", low_freq_factor = " + factor("low_freq_factor") +
                  ", high_freq_factor = " + factor("high_freq_factor") +
                  ", original_length = " + std::to_string(original);
  } else if (type == "longrope" || type == "su" || (type == "yarn" && yarnIsLongRope)) {
    readLongRope(inner, own);
  } else if (type == "yarn") {
    readYarn(inner, own);
  } else if (type == "dynamic") {
    factor("factor");
    config.note("rope's type `dynamic` changes no angle up to " + Twine(positions) +
                " positions, `max_position_embeddings`: with more it would, which is not done");
  } else if (type != "default") {
    inner.refuse(inner.has("rope_type") ? "rope_type" : "type",
                 "`default`, `linear`, `llama3`, `dynamic`, `longrope` or `yarn`",
                 "write the angles as a `table` and give them to `rotary(x, half, angles = …)`");
  }
}

void RopeReader::readSteps(Config &from, Rotation &own) {
  double turns = double(originalOf(from)) / (2 * M_PI) / from.number("low_freq_factor").value_or(1),
         factor = from.number("factor").value_or(0);
  if (!(factor > 0))
    from.refuse("factor", "a number above 0, for the type `llama3`");
  int64_t pair = 0; // the first that turns less than once in that length
  while (pair < own.turned / 2 &&
         std::pow(own.base, -2 * double(pair) / double(own.turned)) * turns >= 1)
    ++pair;
  own.rule = "Llama 3's rule without a transition";
  own.slowing = "if p < " + std::to_string(pair) + " then 1 else 1 / " + numberText(factor);
}

void RopeReader::readYarn(Config &from, Rotation &own) {
  int64_t original = originalOf(from);
  double factor = from.number("factor").value_or(double(positions) / double(original)),
         fast = from.number("beta_fast").value_or(32), slow = from.number("beta_slow").value_or(1);
  if (!(factor >= 1) || !(fast >= slow) || !(slow > 0)) { // Kimi K2 has 1 for both
    from.refuse("factor", "at least 1, and a `beta_fast` of at least `beta_slow`, for the type "
                          "`yarn`");
    return;
  }
  // The pair that turns so many times in the original length.
  auto pairOf = [&](double turns) {
    return double(own.turned) * std::log(double(original) / (turns * 2 * M_PI)) /
           (2 * std::log(own.base));
  };
  double low = pairOf(fast), high = pairOf(slow);
  if (from.flag("truncate", true))
    low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, double(own.turned - 1));
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
  std::vector<double> shortFactors = from.numbers("short_factor"),
                      longFactors = from.numbers("long_factor");
  own.shortLength = originalOf(from);
  if (own.shortLength < 2) // whose logarithm divides
    (isOriginalBeside() ? config : from)
        .refuse("original_max_position_embeddings", "at least 2 positions");
  auto isWrong = [&](const std::vector<double> &factors) {
    return int64_t(factors.size()) != own.turned / 2 ||
           llvm::any_of(factors, [](double factor) { return !(factor > 0); });
  };
  if (isWrong(shortFactors) || isWrong(longFactors)) {
    StringRef key = isWrong(shortFactors) ? "short_factor" : "long_factor";
    from.refuse(key, "a number above 0 for each of " + Twine(own.turned / 2) + " pairs");
    return;
  }
  double factor = from.number("factor").value_or(double(positions) / double(own.shortLength));
  own.strength =
      factor > 1 ? std::sqrt(1 + std::log(factor) / std::log(double(own.shortLength))) : 1;
  own.strength = from.number("attention_factor").value_or(own.strength);
  // Phi-3.5 MoE's, which stand for it.
  std::optional<double> ofShort = from.number("short_mscale"), ofLong = from.number("long_mscale");
  if (ofShort && ofLong && *ofShort != *ofLong)
    from.refuse("long_mscale", "`short_mscale`, " + numberText(*ofShort) + ", for long texts, too");
  own.strength = ofShort.value_or(own.strength);
  own.rule = "LongRoPE";
  own.slowing = "1 / (if C > " + std::to_string(own.shortLength) + " then (" +
                chosenOf(longFactors) + ") else (" + chosenOf(shortFactors) + "))";
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
