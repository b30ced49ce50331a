// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transformers of the samples of a sound, with the names of Hugging Face's checkpoints.
//
//   Baevski et al. 2020, "wav2vec 2.0: A Framework for Self-Supervised Learning of Speech
//     Representations": wav2vec2
//   Hsu et al. 2021, "HuBERT: Self-Supervised Speech Representation Learning by Masked Prediction
//     of Hidden Units": hubert
//   Wang et al. 2021, "UniSpeech: Unified Speech Representation Learning": unispeech
//   Chen et al. 2021, "UniSpeech-SAT: Universal Speech Representation Learning with Speaker Aware
//     Pre-Training": unispeech-sat
//   Chen et al. 2022, "WavLM: Large-Scale Self-Supervised Pre-Training for Full Stack Speech
//     Processing": wavlm
//   Baevski et al. 2022, "data2vec: A General Framework for Self-supervised Learning in Speech,
//     Vision and Language": data2vec-audio
//   Graves et al. 2006, "Connectionist Temporal Classification": the head that writes
#include "compiler/import/checkpoint/Families.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace llvm;

namespace attn::importer {

namespace {

/// What a class does otherwise than wav2vec 2.
enum SoundTrait : unsigned {
  Gated = 1,         ///< distances count as much as a gate says
  ManyPositions = 2, ///< several convolutions tell positions, and every convolution is normed
  MayLackNorm = 4,   ///< `feat_proj_layer_norm`
  MayNormBatch = 8,  ///< `conv_pos_batch_norm`
  MayAdapt = 16,     ///< `adapter_attn_dim`
};

/// A class.
struct SoundKind {
  StringRef type, body;
  unsigned traits;
};

/// A convolution of the samples.
struct Convolution {
  int64_t features, kernel, stride;
  int64_t perFrame = 1, beyond = 0; ///< rows behind it: perFrame * T + beyond
};

/// Writes a spec.
class Wav2Vec2Writer {
public:
  Wav2Vec2Writer(FamilyWriter &writer, const SoundKind &kind)
      : writer(writer), config(writer.config), kind(kind) {}
  void write();

private:
  bool is(SoundTrait trait) const { return kind.traits & trait; }
  /// The convolutions that make frames of samples; none where the config does not fit together.
  std::vector<Convolution> readConvolutions();
  void setConvolutions(ArrayRef<Convolution> convolutions);
  void setPositions();
  void setLayers();
  void setHead();
  void setSound();
  /// Tensors that no result needs.
  void setUnused();

  FamilyWriter &writer;
  Config &config;
  const SoundKind &kind;
  TemplateValues values;
  std::string prefix;
};

} // namespace

static constexpr SoundKind soundKinds[] = {
    {"wav2vec2", "wav2vec2", MayAdapt},
    {"hubert", "hubert", MayLackNorm | MayNormBatch | MayAdapt},
    {"unispeech", "unispeech", MayAdapt},
    {"unispeech-sat", "unispeech_sat", MayAdapt},
    {"wavlm", "wavlm", Gated},
    {"data2vec-audio", "data2vec_audio", ManyPositions},
};

std::vector<Convolution> Wav2Vec2Writer::readConvolutions() {
  auto listOf = [&](StringRef key, std::vector<int64_t> otherwise) {
    return config.has(key) ? config.sizes(key) : std::move(otherwise);
  };
  std::vector<int64_t> features = listOf("conv_dim", std::vector<int64_t>(7, 512)),
                       kernels = listOf("conv_kernel", {10, 3, 3, 3, 3, 2, 2}),
                       strides = listOf("conv_stride", {5, 2, 2, 2, 2, 2, 2});
  std::vector<Convolution> all;
  config.passOver({"num_feat_extract_layers"});
  if (features.empty() || features.size() != kernels.size() || features.size() != strides.size() ||
      features.size() > 16) {
    config.refuse("conv_dim", "as many numbers as `conv_kernel` and `conv_stride` have, up to 16");
    return all;
  }
  for (size_t n = 0; n < features.size(); ++n) {
    if (kernels[n] > 4096 || strides[n] > 4096)
      config.refuse(kernels[n] > 4096 ? "conv_kernel" : "conv_stride", "numbers up to 4096");
    all.push_back({features[n], kernels[n], strides[n]});
  }
  for (size_t n = all.size() - 1; n > 0; --n) {
    const Convolution &after = all[n];
    all[n - 1].perFrame = after.perFrame * after.stride;
    all[n - 1].beyond = (after.beyond - 1) * after.stride + after.kernel;
    if (all[n - 1].perFrame > 1 << 24)
      config.refuse("conv_stride", "at most 2^24 samples for each frame");
  }
  return all;
}

/// "64 * T + 15" behind `64 * T`; nothing for 0.
static std::string signedText(int64_t beyond) {
  return beyond == 0 ? "" : (beyond < 0 ? " - " : " + ") + std::to_string(std::abs(beyond));
}

void Wav2Vec2Writer::setConvolutions(ArrayRef<Convolution> convolutions) {
  bool isGroup = false;
  if (!is(ManyPositions)) {
    std::string norm = config.text("feat_extract_norm", "group");
    isGroup = norm == "group";
    if (!isGroup && norm != "layer")
      config.refuse("feat_extract_norm", "`group` or `layer`");
  }
  std::vector<TemplateValues> each;
  bool hasBias = config.flag("conv_bias", false);
  for (auto [i, own] : enumerate(convolutions)) {
    TemplateValues one;
    std::string n = std::to_string(i + 1), before = std::to_string(i),
                name = prefix + "feature_extractor.conv_layers." + before;
    bool isLast = i + 1 == convolutions.size(), isGroupNormed = isGroup && i == 0;
    std::string rows = isLast ? "T" : "S" + n, result = "c" + n;
    one.set("n", n), one.set("before", before), one.set("name", name);
    one.set("features", own.features), one.set("kernel", own.kernel);
    one.set("stride", own.stride), one.set("perFrame", own.perFrame);
    one.set("beyondFrames", signedText(own.beyond));
    one.set("from", i ? "C" + before + ", " : ""), one.set("bias", hasBias ? " bias" : "");
    one.set("rows", rows),
        one.set("heard", i ? llvm::formatv("x{0}, S{0}", i).str() : "samples, S");
    one.setIf("isLast", isLast);
    one.setIf("groupNormed", isGroupNormed), one.setIf("layerNormed", !isGroup);
    if (isGroupNormed)
      result = "normed";
    else if (!isGroup)
      result = llvm::formatv("{0}.layer_norm({1})", name, result).str();
    one.set("act", activation(config, "feat_extract_activation", "gelu", result));
    each.push_back(one);
  }
  const Convolution &first = convolutions.front();
  int64_t beyond = (first.beyond - 1) * first.stride + first.kernel;
  if (beyond < 0 || any_of(convolutions, [](const Convolution &own) { return own.beyond < 0; }))
    config.refuse("conv_stride", "at most as many rows as `conv_kernel` has");
  values.setEach("convolutions", each);
  values.set("last", int64_t(convolutions.size()));
  values.set("perFrame", first.perFrame * first.stride);
  values.set("beyond", signedText(beyond));
  values.set("field", first.perFrame * first.stride + beyond);
}

void Wav2Vec2Writer::setPositions() {
  bool isMany = is(ManyPositions), isNormed = false;
  int64_t width = config.size("hidden_size", 768),
          groups = config.size("num_conv_pos_embedding_groups", 16),
          places = isMany ? config.size("conv_pos_kernel_size", 19)
                          : config.size("num_conv_pos_embeddings", 128);
  if (width % groups)
    config.refuse("num_conv_pos_embedding_groups", "a divisor of `hidden_size`");
  if (is(MayNormBatch))
    isNormed = config.flag("conv_pos_batch_norm", false);
  values.set("groups", groups), values.set("places", places);
  values.set("front", places / 2), values.set("behind", places - 1 - places / 2);
  values.setIf("manyPositions", isMany), values.setIf("normedPositions", isNormed);
  if (isMany)
    values.set("positionLayers", config.size("num_conv_pos_embeddings", 5));
  std::string norm = prefix + "encoder.pos_conv_embed.batch_norm";
  values.set("seen", isNormed ? "if inside then " + norm + "(h) else 0" : "h");
  values.set("positionAct", activation(config, "feat_extract_activation", "gelu", "y"));
  values.setIf("normedFeatures", !is(MayLackNorm) || config.flag("feat_proj_layer_norm", true));
}

void Wav2Vec2Writer::setLayers() {
  int64_t width = config.size("hidden_size", 768), heads = config.size("num_attention_heads", 12);
  if (width % heads)
    config.refuse("num_attention_heads", "a divisor of `hidden_size`");
  values.set("width", width), values.set("heads", heads);
  values.set("layers", config.size("num_hidden_layers", 12));
  values.set("hidden", config.size("intermediate_size", 3072));
  values.set("eps", numberText(config.number("layer_norm_eps", 1e-5)));
  values.set("act", activation(config, "hidden_act", "gelu", "feed_forward.intermediate_dense(m)"));
  // The class of data2vec has the norms behind alone.
  bool isStable = !is(ManyPositions) && config.flag("do_stable_layer_norm", false),
       isAdapted = isStable && is(MayAdapt) && config.has("adapter_attn_dim");
  values.setIf("stable", isStable), values.set("of", isStable ? "n" : "x");
  values.setIf("adapted", isAdapted);
  values.set("adapter", isAdapted ? config.size("adapter_attn_dim") : 0);
  values.setIf("gated", is(Gated));
  if (is(Gated)) {
    int64_t buckets = config.size("num_buckets", 320),
            furthest = config.size("max_bucket_distance", 800);
    if (buckets % 4)
      config.refuse("num_buckets", "a multiple of 4");
    if (furthest <= buckets / 4)
      config.refuse("max_bucket_distance", "more than a quarter of `num_buckets`");
    values.set("buckets", buckets), values.set("furthest", furthest);
    values.set("relative", ", " + prefix + "encoder.layers.0.attention.rel_attn_embed.weight");
  }
  if (config.flag("add_adapter", false))
    config.refuse("add_adapter", "false");
}

void Wav2Vec2Writer::setHead() {
  StringRef task = writer.task;
  bool isWritten = task == "ForCTC", isClassified = task == "ForSequenceClassification";
  if (!isWritten && !isClassified && !task.empty() && task != "ForPreTraining")
    config.refuse("architectures", "the bare model, `…ForPreTraining`, `…ForCTC` or "
                                   "`…ForSequenceClassification`");
  if (task == "ForPreTraining")
    config.note("what the training alone needs of `" + writer.architecture + "` is left out");
  values.setIf("written", isWritten), values.setIf("classified", isClassified);
  values.setIf("bare", !isWritten && !isClassified);
  if (isWritten)
    values.set("tokens", config.size("vocab_size", 32));
  bool isWeighted = isClassified && config.flag("use_weighted_layer_sum", false);
  values.setIf("weighted", isWeighted);
  if (isClassified) {
    values.set("projected", config.size("classifier_proj_size", 256));
    values.set("classes", classCount(config));
  }
}

void Wav2Vec2Writer::setUnused() {
  std::set<std::string> patterns;
  for (const auto &[name, shape] : writer.folder.shapes) {
    StringRef tensor = name;
    if (tensor.ends_with("masked_spec_embed"))
      patterns.insert(name);
    else if (tensor.ends_with("num_batches_tracked"))
      patterns.insert("*.num_batches_tracked");
    else if (writer.task == "ForPreTraining" && !tensor.starts_with(prefix))
      patterns.insert(tensor.split('.').first.str() +
                      (tensor.contains('.') ? std::string(".*") : std::string()));
  }
  std::vector<TemplateValues> each;
  for (const std::string &pattern : patterns) {
    each.emplace_back();
    each.back().set("pattern", pattern);
  }
  values.setEach("unused", each);
}

void Wav2Vec2Writer::setSound() {
  values.set("sound", "");
  if (!writer.folder.preprocessor) {
    config.note("there is no `preprocessor_config.json`: the spec does not say how a sound becomes "
                "the tensor");
    return;
  }
  Config from(*writer.folder.preprocessor, writer.folder.preprocessorFile);
  int64_t rate = from.size("sampling_rate", 16000);
  bool isUnit = from.flag("do_normalize", true);
  config.adopt(from);
  std::string line = "sound input samples rate " + std::to_string(rate);
  values.set("sound", line + (isUnit ? " unit\n" : "\n"));
}

void Wav2Vec2Writer::write() {
  std::string body = (kind.body + ".").str();
  prefix = writer.folder.hasWithin(kind.body) ? body : "";
  std::vector<Convolution> convolutions = readConvolutions();
  if (convolutions.empty())
    return;
  values.set("model", writer.model), values.set("prefix", prefix);
  setConvolutions(convolutions);
  setPositions(), setLayers(), setHead(), setUnused(), setSound();
  writeTemplate(writer, "wav2vec2", values);
}

static void writeWav2Vec2(FamilyWriter &writer) {
  const SoundKind &kind =
      *llvm::find_if(soundKinds, [&](const SoundKind &one) { return one.type == writer.type; });
  Wav2Vec2Writer(writer, kind).write();
}

const Family familyWav2Vec2 = {"wav2vec2 hubert unispeech unispeech-sat wavlm data2vec-audio",
                               writeWav2Vec2};

} // namespace attn::importer
