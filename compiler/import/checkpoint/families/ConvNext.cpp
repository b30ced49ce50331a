// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutional networks in the form of vision transformers, with the names of Hugging Face's
// checkpoints.
//
//   Liu et al. 2022, "A ConvNet for the 2020s": convnext
//   Woo et al. 2023, "ConvNeXt V2": convnextv2, whose features are weighed by how strongly each
//     responds in the whole picture
//   Siméoni et al. 2025, "DINOv3": dinov3_convnext, the first distilled from a transformer
#include "compiler/import/checkpoint/Families.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// What a class calls its tensors, and what is its own.
struct ConvNextKind {
  StringRef type;
  StringRef body;   ///< what names begin with below a head
  StringRef stages; ///< where the stages are
  StringRef stem, stemNorm, down, norm;
  StringRef depthwise, layerNorm, up, down1, scale; ///< of a layer; `scale` may be missing
  bool isOfTokens;                                  ///< gives a row for each place, behind the mean
};

} // namespace

static constexpr ConvNextKind convNextKinds[] = {
    {"convnext", "convnext.", "encoder.stages", "embeddings.patch_embeddings",
     "embeddings.layernorm", "downsampling_layer", "layernorm", "dwconv", "layernorm", "pwconv1",
     "pwconv2", "layer_scale_parameter", false},
    {"convnextv2", "convnextv2.", "encoder.stages", "embeddings.patch_embeddings",
     "embeddings.layernorm", "downsampling_layer", "layernorm", "dwconv", "layernorm", "pwconv1",
     "pwconv2", "", false},
    {"dinov3_convnext", "", "stages", "stages.0.downsample_layers.0",
     "stages.0.downsample_layers.1", "downsample_layers", "layer_norm", "depthwise_conv",
     "layer_norm", "pointwise_conv1", "pointwise_conv2", "gamma", true},
};

/// The stages, each with half the rows and columns of the one before.
static std::vector<TemplateValues> stagesOf(FamilyWriter &writer, const ConvNextKind &kind,
                                            StringRef prefix, int64_t rows, int64_t columns) {
  Config &config = writer.config;
  std::vector<int64_t> depths = config.sizes("depths"), features = config.sizes("hidden_sizes");
  if (depths.empty() || depths.size() > 8 || features.size() != depths.size() ||
      config.size("num_stages", int64_t(depths.size())) != int64_t(depths.size())) {
    config.refuse("depths", "a number of layers for each stage, as many as `hidden_sizes` has");
    return {};
  }
  std::vector<TemplateValues> stages;
  for (auto [n, depth] : enumerate(depths)) {
    if (depth < 1 || features[n] < 1 || rows < 1 || columns < 1) {
      config.refuse("depths", "stages of at least one layer, each with half the rows and columns "
                              "of the one before");
      return stages;
    }
    TemplateValues &stage = stages.emplace_back();
    stage.set("stage", int64_t(n) + 1);
    stage.set("before", int64_t(n));
    stage.setIf("later", n > 0);
    stage.set("at", (prefix + kind.stages + "." + Twine(n) + ".").str());
    stage.set("depth", depth);
    stage.set("features", features[n]);
    stage.set("rows", rows), stage.set("columns", columns);
    rows /= 2, columns /= 2;
  }
  return stages;
}

static void writeConvNext(FamilyWriter &writer) {
  Config &config = writer.config;
  const ConvNextKind &kind = *llvm::find_if(
      convNextKinds, [&](const ConvNextKind &one) { return one.type == writer.type; });
  bool isBare = writer.task.empty();
  if (!isBare && (kind.isOfTokens || writer.task != "ForImageClassification"))
    config.refuse("architectures", kind.isOfTokens
                                       ? "the bare model"
                                       : "the bare model, or `…ForImageClassification`");
  Picture picture = readPicture(writer, config.size("image_size", 224));
  int64_t patch = kind.isOfTokens ? 4 : config.size("patch_size", 4);
  std::string prefix = isBare ? "" : kind.body.str();
  // Later versions of the library have the stages in a part `model`.
  std::string inner =
      kind.isOfTokens && writer.folder.hasWithin("model.stages") ? "model." : prefix;
  std::vector<TemplateValues> stages =
      stagesOf(writer, kind, inner, picture.side / patch, picture.width / patch);
  double eps = config.number("layer_norm_eps", kind.isOfTokens ? 1e-6 : 1e-12);
  bool isScaled =
      !kind.scale.empty() && (config.number("layer_scale_init_value").value_or(1e-6) > 0 ||
                              kind.isOfTokens); // the value that a training begins with
  TemplateValues values;
  values.set("model", writer.model);
  values.set("channels", config.size("num_channels", 3));
  values.set("height", picture.side), values.set("width", picture.width);
  values.set("patch", patch);
  values.setIf("classified", !isBare);
  if (!isBare)
    values.set("classes", classCount(config));
  values.set("last", int64_t(stages.size()));
  values.setEach("stages", stages);
  values.setIf("tokens", kind.isOfTokens);
  values.set("stem", inner + kind.stem.str()), values.set("stemNorm", inner + kind.stemNorm.str());
  values.set("down", kind.down), values.set("norm", prefix + kind.norm.str());
  values.set("at1", inner + kind.stages.str() + ".0.");
  values.set("inner", numberText(kind.isOfTokens ? eps : 1e-6)), values.set("eps", numberText(eps));
  values.set("depthwise", kind.depthwise), values.set("layerNorm", kind.layerNorm);
  values.set("up", kind.up), values.set("down1", kind.down1);
  values.setIf("scaled", isScaled), values.set("scale", kind.scale);
  values.setIf("responses", kind.type == "convnextv2");
  values.set("act", activation(config, "hidden_act", "gelu", "u"));
  values.set("picture", picture.line);
  std::string last = std::to_string(stages.size()), features = "D" + last;
  values.set("result", !isBare ? "scores: [B, K]"
                       : kind.isOfTokens
                           ? "hidden: [B, N, " + features + "], pooled: [B, " + features + "]"
                           : "hidden: [B, " + features + ", Y" + last + ", X" + last +
                                 "], pooled: [B, " + features + "]");
  writeTemplate(writer, "convnext", values);
}

const Family familyConvNext = {"convnext convnextv2 dinov3_convnext", writeConvNext};

} // namespace attn::importer
