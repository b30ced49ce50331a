// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rekesh et al. 2023, "Fast Conformer with Linearly Scalable Attention for Efficient Speech
// Recognition": Parakeet with a head for CTC. How a sound becomes a spectrogram, of which all
// bands have mean 0 and deviation 1, is part of the spec.
#include "compiler/import/checkpoint/Families.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

/// How a sound becomes a spectrogram, by preprocessor_config.json or as the class does; returns
/// the samples from one row to the next.
static int64_t setSpectrogram(FamilyWriter &writer, TemplateValues &values, int64_t bands) {
  Config &config = writer.config;
  Config from =
      writer.preprocessor("a sound becomes a spectrogram as the published class makes it");
  int64_t rate = from.size("sampling_rate", 16000), hop = from.size("hop_length", 160),
          fft = from.size("n_fft", 512), window = from.size("win_length", 400);
  if (from.size("feature_size", 80) != bands)
    from.refuse("feature_size", "`num_mel_bins` of config.json, " + Twine(bands));
  if (fft % 2 || fft > 8192)
    from.refuse("n_fft", "an even number up to 8192");
  if (window > fft || window < 2)
    from.refuse("win_length", "from 2 to `n_fft`");
  if (hop > fft / 2)
    from.refuse("hop_length", "at most half of `n_fft`");
  if (rate <= 2000)
    from.refuse("sampling_rate", "more than 2000");
  // Without the key the class has its own; null is none.
  double emphasis = from.isSilent("preemphasis") ? 0.97 : from.number("preemphasis").value_or(0);
  config.adopt(from);
  int64_t first = (fft - window) / 2;
  values.set("rate", rate), values.set("hop", hop), values.set("fft", fft);
  values.set("windowFrom", first), values.set("windowTo", first + window);
  values.set("windowSteps", window - 1), values.set("pi", "3.141592653589793");
  values.set("emphasis", numberText(emphasis));
  values.set("before", fft / 2), values.set("after", fft / 2 - hop);
  values.set("around", fft - hop), values.set("guard", numberText(std::pow(2.0, -24)));
  // Slaney's scale: 200 / 3 Hz a step up to 1000, then 27 steps for a factor of 6.4.
  double top = 15 + std::log(double(rate) / 2000) / (std::log(6.4) / 27);
  std::string step = numberText(top / double(bands + 1));
  auto edge = [&](int64_t more) {
    std::string at = "(m + " + std::to_string(more) + ") * " + step;
    return "(if " + at + " < 15 then " + at + " * 200 / 3 else 1000 * exp((" + at + " - 15) * " +
           numberText(std::log(6.4) / 27) + "))";
  };
  values.set("low", edge(0)), values.set("middle", edge(1)), values.set("high", edge(2));
  values.set("perBin", numberText(double(rate) / double(fft)));
  return hop;
}

/// The convolutions that make fewer rows and bands.
static void setConvolutions(Config &encoder, TemplateValues &values, int64_t bands, int64_t hop) {
  int64_t factor = encoder.size("subsampling_factor", 8),
          kernel = encoder.size("subsampling_conv_kernel_size", 3),
          stride = encoder.size("subsampling_conv_stride", 2);
  if (factor < 2 || factor > 64 || (factor & (factor - 1)))
    encoder.refuse("subsampling_factor", "a power of 2 up to 64");
  if (stride != 2)
    encoder.refuse("subsampling_conv_stride", "2");
  if (kernel != 3)
    encoder.refuse("subsampling_conv_kernel_size", "3");
  int64_t count = 0, now = bands;
  while (count < 6 && (int64_t(2) << count) <= factor)
    ++count;
  std::vector<TemplateValues> each, deeper;
  for (int64_t n = 1; n <= count; ++n) {
    TemplateValues one;
    bool isLast = n == count;
    now = (now - 1) / 2 + 1;
    std::string name = isLast ? "T" : "W" + std::to_string(n);
    one.set("n", n), one.set("previous", n - 1), one.set("bands", now), one.set("name", name);
    one.set("rows", factor >> n), one.set("from", "W" + std::to_string(n - 1));
    one.set("step", hop << n), one.set("hop", hop), one.set("stride", stride);
    one.set("side", kernel / 2), one.setIf("isFirst", n == 1), one.setIf("isLast", isLast);
    one.set("depthwise", 3 * n - 4), one.set("pointwise", 3 * n - 3);
    each.push_back(one);
    if (n > 1)
      deeper.push_back(one);
  }
  if (now != bands / factor)
    encoder.refuse("subsampling_factor", "a divisor of `num_mel_bins`");
  values.setEach("convolutions", each), values.setEach("deeper", deeper);
  values.set("last", count), values.set("factor", factor), values.set("places", kernel);
  values.set("channels", encoder.size("subsampling_conv_channels", 256));
  values.set("perFrame", hop * factor);
}

static void writeParakeet(FamilyWriter &writer) {
  Config &config = writer.config;
  if (writer.task != "ForCTC")
    config.refuse("architectures", "`ParakeetForCTC`");
  Config encoder = config.within("encoder_config");
  encoder.passOver({"model_type"});
  TemplateValues values;
  int64_t width = encoder.size("hidden_size", 1024), heads = encoder.size("num_attention_heads", 8),
          bands = encoder.size("num_mel_bins", 80), kernel = encoder.size("conv_kernel_size", 9);
  if (width % heads || width % 2)
    encoder.refuse("num_attention_heads", "a divisor of `hidden_size`, which is even");
  if (encoder.size("num_key_value_heads", heads) != heads)
    encoder.refuse("num_key_value_heads", "`num_attention_heads`");
  if (kernel % 2 == 0)
    encoder.refuse("conv_kernel_size", "an odd number");
  values.set("model", writer.model), values.set("width", width), values.set("heads", heads);
  values.set("layers", encoder.size("num_hidden_layers", 24));
  values.set("hidden", encoder.size("intermediate_size", 4096));
  values.set("kernel", kernel), values.set("border", (kernel - 1) / 2);
  values.set("bands", bands), values.set("tokens", config.size("vocab_size", 1025));
  values.set("act", activation(encoder, "hidden_act", "silu", "y"));
  values.set("bias", encoder.flag("attention_bias", true) ? " bias" : "");
  values.set("convBias", encoder.flag("convolution_bias", true) ? " bias" : "");
  values.set("scale", encoder.flag("scale_input", true)
                          ? " * " + numberText(std::sqrt(double(width)))
                          : std::string());
  values.setIf("counted", any_of(writer.folder.shapes, [](const auto &tensor) {
                 return StringRef(tensor.first).ends_with("num_batches_tracked");
               }));
  int64_t hop = setSpectrogram(writer, values, bands);
  setConvolutions(encoder, values, bands, hop);
  config.adopt(encoder);
  writeTemplate(writer, "parakeet", values);
}

const Family familyParakeet = {"parakeet_ctc", writeParakeet};

} // namespace attn::importer
