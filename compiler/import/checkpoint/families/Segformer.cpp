// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transformers of maps that become smaller from stage to stage, with the names of Hugging Face's
// checkpoints.
//
//   Xie et al. 2021, "SegFormer: Simple and Efficient Design for Semantic Segmentation with
//     Transformers": segformer
//   Wang et al. 2022, "PVT v2: Improved Baselines with Pyramid Vision Transformer": pvt_v2
#include "compiler/import/checkpoint/Families.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// What a class calls its tensors; `{n}` is the number of the stage.
struct PyramidKind {
  StringRef type, embed, blocks, norm;
  StringRef query, key, value, out, reduce, reduceNorm; ///< of a layer
  double eps;                                           ///< of norms; 0: the config says it
};

/// What the config says of a stage.
struct Stage {
  int64_t depth, features, heads, patch, stride, ratio, hidden, rows, columns;
};

} // namespace

static constexpr PyramidKind pyramidKinds[] = {
    {"segformer", "encoder.patch_embeddings.{n}", "encoder.block.{n}", "encoder.layer_norm.{n}",
     "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
     "attention.self.sr", "attention.self.layer_norm", 1e-5},
    {"pvt_v2", "encoder.layers.{n}.patch_embedding", "encoder.layers.{n}.blocks",
     "encoder.layers.{n}.layer_norm", "attention.query", "attention.key", "attention.value",
     "attention.proj", "attention.spatial_reduction", "attention.layer_norm", 0},
};

/// The stages of a config, and how large their maps are; none where it does not fit together.
static std::vector<Stage> readStages(Config &config, const Picture &picture) {
  std::vector<int64_t> depths = config.sizes("depths"), features = config.sizes("hidden_sizes"),
                       heads = config.sizes("num_attention_heads"),
                       patches = config.sizes("patch_sizes"), strides = config.sizes("strides"),
                       ratios = config.sizes("sr_ratios");
  std::vector<double> mlps = config.numbers("mlp_ratios");
  size_t count = size_t(config.size("num_encoder_blocks", 4));
  std::vector<Stage> stages;
  // The published class looks up the first of a longer list.
  for (auto [key, length] : {std::pair("depths", depths.size()),
                             {"hidden_sizes", features.size()},
                             {"num_attention_heads", heads.size()},
                             {"patch_sizes", patches.size()},
                             {"strides", strides.size()},
                             {"sr_ratios", ratios.size()},
                             {"mlp_ratios", mlps.size()}})
    if (length < count || count > 8) {
      config.refuse(key, "a number for each stage, of which `num_encoder_blocks` says that there "
                         "are " +
                             Twine(count));
      return stages;
    }
  int64_t rows = picture.side, columns = picture.width;
  for (size_t n = 0; n < count; ++n) {
    auto after = [&](int64_t size) {
      int64_t covered = size + patches[n] / 2 * 2 - patches[n];
      return covered < 0 ? 0 : covered / strides[n] + 1;
    };
    if (strides[n] < 1 || patches[n] < 1 || features[n] < 1 || depths[n] < 1 || ratios[n] < 1 ||
        heads[n] < 1 || features[n] % heads[n] || !(double(features[n]) * mlps[n] >= 1)) {
      config.refuse("hidden_sizes",
                    "stages whose heads, which `num_attention_heads` says, divide their width");
      return stages;
    }
    rows = after(rows), columns = after(columns);
    if (rows < ratios[n] || columns < ratios[n]) {
      config.refuse("sr_ratios", "at most the rows and columns of the stage's map, " + Twine(rows) +
                                     " x " + Twine(columns));
      return stages;
    }
    stages.push_back({depths[n], features[n], heads[n], patches[n], strides[n], ratios[n],
                      int64_t(double(features[n]) * mlps[n]), rows, columns});
  }
  return stages;
}

static std::string nameOf(StringRef pattern, size_t stage) {
  auto [front, behind] = pattern.split("{n}");
  return (front + Twine(stage) + behind).str();
}

static TemplateValues valuesOf(const PyramidKind &kind, const Stage &stage, size_t n,
                               const std::string &prefix) {
  TemplateValues values;
  values.set("stage", int64_t(n) + 1), values.set("before", int64_t(n));
  values.setIf("later", n > 0);
  std::string before = std::to_string(n);
  values.set("from", n ? "D" + before : "C");
  values.set("above", n ? "Y" + before : "H"), values.set("left", n ? "X" + before : "W");
  values.set("map", n ? "x" + before : "split(image, \"b c h w -> b h w c\")");
  values.set("embed", prefix + nameOf(kind.embed, n));
  values.set("blocks", prefix + nameOf(kind.blocks, n));
  values.set("norm", prefix + nameOf(kind.norm, n));
  for (auto [name, number] : {std::pair("rows", stage.rows),
                              {"columns", stage.columns},
                              {"features", stage.features},
                              {"patch", stage.patch},
                              {"stride", stage.stride},
                              {"border", stage.patch / 2},
                              {"depth", stage.depth},
                              {"heads", stage.heads},
                              {"ratio", stage.ratio},
                              {"hidden", stage.hidden}})
    values.set(name, number);
  return values;
}

/// What only some classes have: fewer keys by means, biases, a head for segments.
static void setTraits(FamilyWriter &writer, TemplateValues &values,
                      const std::vector<Stage> &stages, bool segments) {
  Config &config = writer.config;
  bool isPooled = writer.type == "pvt_v2" && config.flag("linear_attention", false);
  if (isPooled &&
      any_of(stages, [](const Stage &stage) { return stage.rows % 7 || stage.columns % 7; }))
    config.refuse("linear_attention", "false, unless 7 divides the rows and columns of each map");
  values.setIf("pooled", isPooled), values.setIf("strided", !isPooled);
  values.set("seen", isPooled ? "49" : "((Y - Y % R) / R) * ((X - X % R) / R)");
  bool hasBias = writer.type != "pvt_v2" || config.flag("qkv_bias", true);
  values.set("qkvBias", hasBias ? " bias" : "");
  if (writer.type == "segformer" && !config.flag("reshape_last_stage", true) && writer.task.empty())
    config.refuse("reshape_last_stage", "true");
  std::string joined;
  for (size_t n = stages.size(); n > 0; --n)
    joined += (joined.empty() ? "c" : ", c") + std::to_string(n);
  values.set("joined", joined);
  values.set("head", segments ? config.size("decoder_hidden_size", 256) : 1);
}

static void writeSegformer(FamilyWriter &writer) {
  Config &config = writer.config;
  const PyramidKind &kind =
      *llvm::find_if(pyramidKinds, [&](const PyramidKind &one) { return one.type == writer.type; });
  bool isBare = writer.task.empty(),
       segments = writer.task == "ForSemanticSegmentation" && kind.type == "segformer";
  if (!isBare && !segments && writer.task != "ForImageClassification")
    config.refuse("architectures",
                  kind.type == "segformer"
                      ? "the bare model, `…ForImageClassification` or `…ForSemanticSegmentation`"
                      : "the bare model, or `…ForImageClassification`");
  int64_t side = kind.type == "segformer" ? 512 : 224;
  std::vector<int64_t> said = config.sizes("image_size");
  Picture picture = readPicture(writer, said.empty() ? side : said.front());
  std::vector<Stage> stages = readStages(config, picture);
  if (stages.empty())
    return;
  std::string prefix = isBare ? "" : kind.type.str() + ".", last = std::to_string(stages.size());
  TemplateValues values;
  values.set("model", writer.model), values.set("channels", config.size("num_channels", 3));
  values.set("height", picture.side), values.set("width", picture.width);
  values.setIf("classified", !isBare), values.setIf("segments", segments);
  values.setIf("scored", !isBare && !segments);
  if (!isBare)
    values.set("classes", classCount(config));
  values.set("last", int64_t(stages.size()));
  std::vector<TemplateValues> each;
  for (auto [n, stage] : enumerate(stages))
    each.push_back(valuesOf(kind, stage, n, prefix));
  values.setEach("stages", each);
  setTraits(writer, values, stages, segments);
  values.setIf("counted", any_of(writer.folder.shapes, [](const auto &tensor) {
                 return StringRef(tensor.first).ends_with("num_batches_tracked");
               }));
  double eps = kind.eps > 0 ? kind.eps : config.number("layer_norm_eps", 1e-6);
  values.set("eps", numberText(eps));
  values.set("query", kind.query), values.set("key", kind.key), values.set("value", kind.value);
  values.set("out", kind.out), values.set("reduce", kind.reduce);
  values.set("reduceNorm", kind.reduceNorm);
  values.set("act", activation(config, "hidden_act", "gelu", "u"));
  values.set("picture", picture.line);
  std::string taken = "(image: [B, C, H, W]) -> ";
  values.set("signature", segments ? "segment" + taken + "scores: [B, K, Y1, X1]"
                          : isBare ? "encode" + taken + "hidden: [B, D" + last + ", Y" + last +
                                         ", X" + last + "]"
                                   : "classify" + taken + "scores: [B, K]");
  writeTemplate(writer, "segformer", values);
}

const Family familySegformer = {"segformer pvt_v2", writeSegformer};

} // namespace attn::importer
