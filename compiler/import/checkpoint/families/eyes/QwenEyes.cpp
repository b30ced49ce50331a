// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Qwen's encoders of pictures, which take a picture of any size as patches.
//
//   Wang et al. 2024, "Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any
//     Resolution"; Bai et al. 2025, "Qwen2.5-VL Technical Report"; Qwen Team 2025, "Qwen3-VL
//     Technical Report" (results of layers go to the first layers of the decoder)
#include "compiler/import/checkpoint/Eyes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

namespace {

/// What Qwen's encoders of pictures have otherwise than each other, and what holds where a config
/// does not say.
struct QwenEyes {
  StringRef types;      ///< of models, with spaces between
  bool isRms = false;   ///< norms
  bool isGated = false; ///< the feed-forward
  bool hasWindows = false;
  bool isLearnt = false; ///< learnt positions, of a grid that is resized; names as of Qwen3-VL
  bool isDeep = false;   ///< results of layers go to the first layers of the decoder
  StringRef act = "quick_gelu";
  int64_t depth = 32, width = 1280, hidden = 0, heads = 16, patch = 14;
  int64_t sections[3] = {0, 0, 0}; ///< pairs by time, row and column, which take turns; 0: in order

  bool isOld() const { return types == "qwen2_vl"; }
  bool isSpread() const { return sections[0] > 0; }
  StringRef first() const { return isGated ? "gate_proj" : isLearnt ? "linear_fc1" : "fc1"; }
  StringRef second() const { return isGated ? "down_proj" : isLearnt ? "linear_fc2" : "fc2"; }
};

} // namespace

/// Qwen3-VL's, and those of models behind it, of which pairs turn in turns.
static constexpr QwenEyes learnt(StringRef types, bool isDeep, int64_t byTime, int64_t byRow,
                                 int64_t byColumn) {
  QwenEyes eyes{types};
  eyes.isLearnt = true;
  eyes.isDeep = isDeep;
  eyes.act = "gelu_pytorch_tanh";
  eyes.depth = 27, eyes.width = 1152, eyes.hidden = 4304, eyes.patch = 16;
  eyes.sections[0] = byTime, eyes.sections[1] = byRow, eyes.sections[2] = byColumn;
  return eyes;
}

static const QwenEyes qwens[] = {
    {"qwen2_vl"},
    {"qwen2_5_vl", true, true, true, false, false, "silu", 32, 3584, 3420},
    learnt("qwen3_vl qwen3_vl_moe", /*isDeep=*/true, 24, 20, 20),
    learnt("qwen3_5 qwen3_5_moe", /*isDeep=*/false, 11, 11, 10),
};

/// The row of a model; null where there is none.
static const QwenEyes *qwenOf(StringRef type) {
  for (const QwenEyes &one : qwens) {
    SmallVector<StringRef> types;
    one.types.split(types, ' ');
    if (is_contained(types, type))
      return &one;
  }
  return nullptr;
}

/// "if p < 16 then 0 else if p < 40 then 1 else 2", of how many pairs turn by each position; where
/// these take turns "if p % 3 == 1 and p < 60 then 1 else …".
static std::string kindsOfPairs(Config &angles, const QwenEyes &kind, int64_t pairs) {
  std::vector<int64_t> sections = angles.sizes("mrope_section");
  if (sections.empty() && kind.isSpread())
    sections.assign(kind.sections, kind.sections + 3);
  bool isWhole =
      sections.size() == 3 && (kind.isSpread() || sections[0] + sections[1] + sections[2] == pairs);
  if (!isWhole) {
    angles.refuse("mrope_section",
                  "three numbers, together " + Twine(pairs) + ", how many pairs of a head turn");
    return "0";
  }
  if (!kind.isSpread())
    return "if p < " + std::to_string(sections[0]) + " then 0 else if p < " +
           std::to_string(sections[0] + sections[1]) + " then 1 else 2";
  return "if p % 3 == 1 and p < " + std::to_string(3 * sections[1]) +
         " then 1 else if p % 3 == 2 and p < " + std::to_string(3 * sections[2]) + " then 2 else 0";
}

/// Which layers a list names, as a condition of `n`.
static std::string whereListed(const std::vector<double> &listed, int64_t layers) {
  std::vector<bool> holds;
  for (int64_t n = 0; n < layers; ++n)
    holds.push_back(is_contained(listed, double(n)));
  return layersWhere(holds);
}

/// Sets the values of results of layers that go to the first layers of the decoder, in the order of
/// the layers; the maps that they go through stand in that of the list.
static void setDeep(const QwenEyes &kind, Config &vision, int64_t layers, Eyes &eyes,
                    TemplateValues &values) {
  StringRef key = "deepstack_visual_indexes";
  std::vector<double> deep = vision.numbers(key);
  if (kind.isDeep && !vision.has(key))
    deep = {8, 16, 24};
  if (!kind.isDeep) // a list that is empty
    deep.clear();
  SmallVector<size_t> places = llvm::to_vector(llvm::seq(deep.size()));
  llvm::sort(places, [&](size_t one, size_t other) { return deep[one] < deep[other]; });
  SmallVector<TemplateValues> each;
  for (auto [i, place] : enumerate(places)) {
    double layer = deep[place];
    if (layer < 0 || layer >= double(layers) || llvm::count(deep, layer) > 1)
      vision.refuse(key,
                    "layers, each once, of which there are " + Twine(layers) + " as `depth` says");
    TemplateValues &own = each.emplace_back();
    own.set("comma", i ? ", " : "");
    own.set("i", int64_t(i));
    own.set("layer", int64_t(layer));
    own.set("merger", int64_t(place));
  }
  eyes.deep = int64_t(deep.size());
  values.setIf("deep", !deep.empty());
  values.setEach("each_deep", each);
  values.set("rows", 1 + eyes.deep);
}

/// Sets the values of Qwen's encoder that its config says: its sizes.
static void setQwenSizes(FamilyWriter &writer, const QwenEyes &kind, Config &vision, int64_t width,
                         TemplateValues &values) {
  StringRef ownKey = kind.isOld() ? "embed_dim" : "hidden_size",
            givenKey = kind.isOld() ? "hidden_size" : "out_hidden_size",
            channels = vision.has("in_chans") ? "in_chans" : "in_channels";
  int64_t own = vision.size(ownKey, kind.width), heads = vision.size("num_heads", kind.heads),
          patch = vision.size("patch_size", kind.patch),
          merged = vision.size("spatial_merge_size", 2),
          frames = vision.size("temporal_patch_size", 2),
          hidden = kind.isOld() ? int64_t(double(own) * vision.number("mlp_ratio", 4))
                                : vision.size("intermediate_size", kind.hidden);
  if (own % heads || own / heads % 4)
    vision.refuse("num_heads", "heads of the width, each with a multiple of 4 features");
  if (vision.size(givenKey, 3584) != width)
    vision.refuse(givenKey, Twine(width) + ", the width of the language model");
  if (vision.size(channels, 3) != 3)
    vision.refuse(channels, "3: pictures are of red, green and blue");
  PatchedPicture picture = readPatchedPicture(writer, patch, merged, frames);
  values.set("picture", picture.line);
  for (auto [name, number] : {std::pair("width", own),
                              {"heads", heads},
                              {"patch", patch},
                              {"merged", merged},
                              {"frames", frames},
                              {"hidden", hidden},
                              {"channels", int64_t(3)},
                              {"most", picture.most}})
    values.set(name, number);
  if (!kind.hasWindows)
    return;
  int64_t window = vision.size("window_size", 112) / merged / patch * merged;
  if (window < 1)
    vision.refuse("window_size", "as large as a square of patches at least");
  values.set("window", window);
}

/// The same, of its blocks.
static void setQwen(const QwenEyes &kind, Config &vision, StringRef part, Eyes &eyes,
                    TemplateValues &values) {
  int64_t layers = vision.size("depth", kind.depth);
  values.set("layers", layers);
  values.set("part", part);
  values.set("first", kind.first());
  values.set("second", kind.second());
  values.set("norm", kind.isLearnt ? "norm" : "ln_q");
  values.set("in", kind.isLearnt ? "linear_fc1" : "mlp.0");
  values.set("out", kind.isLearnt ? "linear_fc2" : "mlp.2");
  values.setIf("rms", kind.isRms);
  values.setIf("gated", kind.isGated);
  values.setIf("windows", kind.hasWindows);
  values.setIf("learnt", kind.isLearnt);
  values.set("act",
             activation(vision, "hidden_act", kind.act, ("mlp." + kind.first() + "(m)").str()));
  if (kind.hasWindows) {
    std::vector<double> full = vision.numbers("fullatt_block_indexes");
    values.set(
        "full",
        whereListed(vision.has("fullatt_block_indexes") ? full : std::vector<double>{7, 15, 23, 31},
                    layers));
  }
  if (kind.isLearnt) {
    int64_t positions = vision.size("num_position_embeddings", 2304);
    values.set("positions", positions);
    values.set("side", int64_t(std::sqrt(double(positions))));
  }
  setDeep(kind, vision, layers, eyes, values);
}

static Eyes readQwen(EyesReader &reader, raw_ostream &os) {
  const QwenEyes &kind = *qwenOf(reader.type);
  FamilyWriter &writer = reader.writer;
  FamilyWriter own{writer.folder, writer.config,       os,         writer.type,
                   writer.model,  writer.architecture, writer.task};
  Config vision = reader.outer.within("vision_config");
  StringRef key = writer.config.has("rope_scaling") ? "rope_scaling" : "rope_parameters";
  Config angles = writer.config.within(key);
  Eyes eyes;
  TemplateValues values;
  setQwenSizes(own, kind, vision, reader.width, values);
  setQwen(kind, vision, reader.hasWithin("model.visual") ? "model.visual." : "visual.", eyes,
          values);
  eyes.kindOfPair = kindsOfPairs(angles, kind, reader.turned / 2);
  writeTemplate(own, "qwen_eyes", values);
  reader.outer.adopt(vision);
  writer.config.adopt(angles);
  return eyes;
}

static constexpr StringRef qwenParts[] = {"visual", "model.visual"};
const EyesKind qwenEyes = {"qwen2_vl qwen2_5_vl qwen3_vl qwen3_vl_moe qwen3_5 qwen3_5_moe",
                           qwenParts, readQwen};

} // namespace attn::importer
