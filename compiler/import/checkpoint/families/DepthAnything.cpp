// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Depth from a picture, with the names of Hugging Face's checkpoints.
//
//   Yang et al. 2024, "Depth Anything: Unleashing the Power of Large-Scale Unlabeled Data" and
//     "Depth Anything V2": DINOv2, of which states of several layers become maps of different sizes
//   Ranftl et al. 2021, "Vision Transformers for Dense Prediction": the head, which adds them up
#include "compiler/import/checkpoint/families/Vit.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// Writes one model of depths.
class DepthWriter {
public:
  explicit DepthWriter(FamilyWriter &writer) : writer(writer), config(writer.config) {}
  void write();

private:
  void readBackbone(FamilyWriter &own);
  void setStages(int64_t grid);
  void setFusions();
  void setHead();
  /// The rows, and columns, of map `n`, counted from 0.
  int64_t sideOf(size_t n, int64_t grid) const {
    double factor = factors[n];
    return factor >= 1 ? grid * int64_t(factor) : (grid - 1) / int64_t(1 / factor) + 1;
  }

  FamilyWriter &writer;
  Config &config;
  TemplateValues values;
  std::vector<int64_t> layers, features; ///< whose states are read, and what they become
  std::vector<double> factors;           ///< how much larger maps are than the grid of patches
  bool isNormed = true;
};

} // namespace

void DepthWriter::readBackbone(FamilyWriter &own) {
  Config &backbone = own.config;
  if (backbone.text("model_type", "") != "dinov2")
    backbone.refuse("model_type", "dinov2");
  isNormed = backbone.flag("apply_layernorm", true);
  if (backbone.flag("reshape_hidden_states", true))
    backbone.refuse("reshape_hidden_states", "false");
  layers = backbone.sizes("out_indices");
  std::vector<std::string> names = backbone.texts("out_features");
  if (layers.empty())
    for (StringRef name : names) {
      int64_t number = 0;
      name.consume_front("stage");
      if (name.getAsInteger(10, number))
        backbone.refuse("out_features", "names such as \"stage9\"");
      layers.push_back(number);
    }
  int64_t count = backbone.size("num_hidden_layers", 12);
  if (any_of(layers, [&](int64_t layer) { return layer < 1 || layer > count; }))
    backbone.refuse("out_indices", "numbers of layers, from 1 to " + Twine(count));
}

void DepthWriter::setStages(int64_t grid) {
  features = config.sizes("neck_hidden_sizes");
  factors = config.numbers("reassemble_factors");
  if (features.empty())
    features = {48, 96, 192, 384};
  if (factors.empty())
    factors = {4, 2, 1, 0.5};
  if (features.size() != factors.size() || features.size() != layers.size())
    config.refuse("neck_hidden_sizes", "as many numbers as `reassemble_factors` and the layers of "
                                       "the backbone that are read, " +
                                           Twine(layers.size()));
  features.resize(layers.size(), 1), factors.resize(layers.size(), 1);
  std::vector<TemplateValues> stages;
  for (size_t n = 0; n < layers.size(); ++n) {
    double factor = factors[n];
    if (features[n] < 1 || !(factor > 0) || (factor > 1 && factor != int64_t(factor))) {
      config.refuse("reassemble_factors", "whole numbers, or fractions of 1");
      return;
    }
    TemplateValues &stage = stages.emplace_back();
    std::string number = std::to_string(n + 1);
    stage.set("n", number), stage.set("i", int64_t(n));
    stage.set("features", features[n]);
    stage.set("rows", sideOf(n, grid)), stage.set("columns", sideOf(n, grid));
    stage.set("factor", factor >= 1 ? int64_t(factor) : int64_t(1 / factor));
    stage.setIf("up", factor > 1), stage.setIf("same", factor == 1);
    stage.setIf("down", factor < 1);
    stage.set("made", (factor == 1 ? "T" : "O") + number);
    std::string state = "pick(states, L at " + std::to_string(layers[n] - 1) + ")";
    stage.set("state", isNormed ? "backbone.layernorm(" + state + ")" : state);
  }
  values.setEach("stages", stages);
  size_t last = layers.size();
  values.set("lastRows", 2 * sideOf(0, grid)), values.set("lastColumns", 2 * sideOf(0, grid));
  values.set("lastFusion", int64_t(last) - 1);
}

void DepthWriter::setFusions() {
  std::vector<TemplateValues> fusions;
  size_t count = layers.size();
  for (size_t i = 0; i < count; ++i) {
    TemplateValues &fusion = fusions.emplace_back();
    std::string own = std::to_string(count - i), next = std::to_string(count - i - 1);
    bool isLast = i + 1 == count;
    fusion.set("i", int64_t(i));
    fusion.set("block", i ? "Fuse" : "Grow");
    fusion.set("finer",
               isLast ? "YF: YL, XF: XL" : ("YF: Y" + Twine(next) + ", XF: X" + next).str());
    fusion.set("given", i ? "f" + std::to_string(i - 1) + ", h" + own : "h" + own);
  }
  values.setEach("fusions", fusions);
  values.setIf("idle", writer.folder.hasWithin("neck.fusion_stage.layers.0.residual_layer1"));
}

void DepthWriter::setHead() {
  values.set("fused", config.size("fusion_hidden_size", 64));
  values.set("head", config.size("head_hidden_size", 32));
  int64_t index = int64_t(config.number("head_in_index").value_or(-1));
  if (index != -1 && index != int64_t(layers.size()) - 1)
    config.refuse("head_in_index", "-1, the last map");
  std::string type = config.text("depth_estimation_type", "relative");
  if (type != "relative" && type != "metric")
    config.refuse("depth_estimation_type", "relative or metric");
  double most = config.number("max_depth").value_or(1);
  values.set("act", type == "metric" ? "sigmoid" : "relu");
  values.set("scale", most == 0 || most == 1 ? "" : " * " + numberText(most));
}

void DepthWriter::write() {
  if (writer.task != "ForDepthEstimation")
    config.refuse("architectures", "a model `…ForDepthEstimation`");
  Config backbone = config.within("backbone_config");
  std::string text;
  raw_string_ostream os(text);
  FamilyWriter own{writer.folder, backbone, os, "dinov2", writer.model, "", ""};
  own.within = "backbone.", own.around = writer.type;
  readBackbone(own);
  VitWriter vit(own);
  vit.keepStates();
  vit.read();
  int64_t patch = config.size("patch_size", 14);
  if (patch != backbone.size("patch_size", 14))
    config.refuse("patch_size", "that of the backbone");
  if (config.size("reassemble_hidden_size", 384) != vit.features())
    config.refuse("reassemble_hidden_size",
                  "the backbone's `hidden_size`, " + Twine(vit.features()));
  setStages(vit.gridSide());
  setFusions();
  setHead();
  vit.writeParameters();
  values.set("parameters", text), text.clear();
  vit.writeLayer();
  values.set("layer", text), text.clear();
  vit.writeStates();
  values.set("states", text);
  values.set("picture", vit.pictureLine());
  writeTemplate(writer, "depth_anything", values);
  config.adopt(backbone);
}

static void writeDepthAnything(FamilyWriter &writer) { DepthWriter(writer).write(); }

const Family familyDepthAnything = {"depth_anything", writeDepthAnything};

} // namespace attn::importer
