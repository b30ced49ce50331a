// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The encoders of pictures around language models.
//
//   Wang et al. 2024, "Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any
//     Resolution"; Bai et al. 2025, "Qwen2.5-VL Technical Report"; Qwen Team 2025, "Qwen3-VL
//     Technical Report" (results of layers go to the first layers of the decoder)
#include "compiler/import/checkpoint/Eyes.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

namespace {

/// What Qwen's encoders of pictures have otherwise than each other.
struct QwenEyes {
  StringRef type;
  bool isRms = false;   ///< norms
  bool isGated = false; ///< the feed-forward
  bool hasWindows = false;
  bool isLearnt = false; ///< learnt positions, of a grid that is resized
  bool isSpread = false; ///< pairs of time, row and column take turns
  StringRef first = "fc1", second = "fc2", norm = "ln_q", in = "mlp.0", out = "mlp.2";
  StringRef act = "quick_gelu";
  int64_t depth = 32, width = 1280, hidden = 0, heads = 16, patch = 14; ///< of the class
};

} // namespace

static const QwenEyes qwens[] = {
    {"qwen2_vl"},
    {"qwen2_5_vl", true, true, true, false, false, "gate_proj", "down_proj", "ln_q", "mlp.0",
     "mlp.2", "silu", 32, 3584, 3420},
    {"qwen3_vl", false, false, false, true, true, "linear_fc1", "linear_fc2", "norm", "linear_fc1",
     "linear_fc2", "gelu_pytorch_tanh", 27, 1152, 4304, 16, 16},
};

ArrayRef<StringRef> eyesParts(StringRef wrapperType) {
  static constexpr StringRef ofQwen[] = {"visual", "model.visual"};
  for (const QwenEyes &one : qwens)
    if (one.type == wrapperType)
      return ofQwen;
  return {};
}

/// "if p < 16 then 0 else if p < 40 then 1 else 2", of how many pairs turn by each position; where
/// these take turns "if p % 3 == 1 and p < 60 then 1 else …".
static std::string kindOfPair(Config &config, Config &angles, bool isSpread, int64_t pairs) {
  std::vector<int64_t> sections = angles.sizes("mrope_section");
  if (sections.empty() && isSpread)
    sections = {24, 20, 20};
  if (sections.size() != 3 || sections[0] + sections[1] + sections[2] != pairs) {
    angles.refuse("mrope_section",
                  "three numbers, together " + Twine(pairs) + ", how many pairs of a head turn");
    return "0";
  }
  if (!isSpread)
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

/// Sets the values of Qwen's encoder that its config says.
static void setQwen(FamilyWriter &writer, const QwenEyes &kind, Config &vision, int64_t width,
                    Eyes &eyes, TemplateValues &values) {
  bool isOld = kind.type == "qwen2_vl";
  int64_t own = vision.size(isOld ? "embed_dim" : "hidden_size", kind.width),
          heads = vision.size("num_heads", kind.heads), layers = vision.size("depth", kind.depth),
          patch = vision.size("patch_size", kind.patch),
          merged = vision.size("spatial_merge_size", 2),
          frames = vision.size("temporal_patch_size", 2),
          hidden = isOld ? int64_t(double(own) * vision.number("mlp_ratio", 4))
                         : vision.size("intermediate_size", kind.hidden),
          given = vision.size(isOld ? "hidden_size" : "out_hidden_size", 3584);
  if (own % heads || own / heads % 4)
    vision.refuse("num_heads", "heads of the width, each with a multiple of 4 features");
  if (given != width)
    vision.refuse(isOld ? "hidden_size" : "out_hidden_size",
                  Twine(width) + ", the width of the language model");
  std::string part = writer.folder.around->hasWithin("model.visual") ? "model.visual." : "visual.";
  PatchedPicture picture = readPatchedPicture(writer, patch, merged, frames);
  for (auto [name, number] :
       {std::pair("width", own),
        {"heads", heads},
        {"layers", layers},
        {"patch", patch},
        {"merged", merged},
        {"frames", frames},
        {"hidden", hidden},
        {"channels", vision.size(vision.has("in_chans") ? "in_chans" : "in_channels", 3)},
        {"most", picture.most}})
    values.set(name, number);
  for (auto [name, text] : {std::pair("part", StringRef(part)),
                            {"picture", picture.line},
                            {"first", kind.first},
                            {"second", kind.second},
                            {"norm", kind.norm},
                            {"in", kind.in},
                            {"out", kind.out}})
    values.set(name, text);
  for (auto [name, holds] : {std::pair("rms", kind.isRms),
                             {"gated", kind.isGated},
                             {"windows", kind.hasWindows},
                             {"learnt", kind.isLearnt}})
    values.setIf(name, holds);
  values.set("act",
             activation(vision, "hidden_act", kind.act,
                        kind.isGated ? "mlp.gate_proj(m)" : ("mlp." + kind.first + "(m)").str()));
  if (kind.hasWindows) {
    int64_t window = vision.size("window_size", 112) / merged / patch * merged;
    if (window < 1)
      vision.refuse("window_size", "as large as a square of patches at least");
    std::vector<double> full = vision.numbers("fullatt_block_indexes");
    values.set("window", window);
    values.set("full",
               whereListed(full.empty() ? std::vector<double>{7, 15, 23, 31} : full, layers));
  }
  if (!kind.isLearnt)
    return;
  int64_t positions = vision.size("num_position_embeddings", 2304),
          side = int64_t(std::sqrt(double(positions)));
  values.set("side", side);
  values.set("positions", positions);
  std::vector<double> deep = vision.numbers("deepstack_visual_indexes");
  if (!vision.has("deepstack_visual_indexes"))
    deep = {8, 16, 24};
  for (double layer : deep)
    if (layer < 0 || layer >= double(layers))
      vision.refuse("deepstack_visual_indexes",
                    "numbers of layers, of which there are " + Twine(layers));
  eyes.deep = int64_t(deep.size());
  std::string given_, parameters, arguments, results, kept, passed, last;
  for (auto [i, layer] : enumerate(deep)) {
    std::string number = std::to_string(i), name = "deep" + number;
    given_ += (i ? ", " : "") + name + " = n == " + std::to_string(int64_t(layer));
    parameters += (i ? ", " : "") + name + " = false";
    arguments += ", kept" + number + ": [S, PD]";
    results += ", [S, PD]";
    kept += ", if " + name + " then z else kept" + number;
    passed += ", x";
    last += ", of" + number;
  }
  values.setIf("deep", !deep.empty());
  for (auto [name, text] : {std::pair("deep_given", given_),
                            {"deep_parameters", parameters},
                            {"deep_arguments", arguments},
                            {"deep_results", results},
                            {"deep_kept", kept},
                            {"deep_passed", passed},
                            {"deep_last", last}})
    values.set(name, text);
  std::string mergers, rows;
  for (int64_t i = 0; i < eyes.deep; ++i) {
    std::string number = std::to_string(i), merger = part + "deepstack_merger_list." + number;
    mergers += "layernorm " + merger + ".norm: PM*PD eps 1e-6\nlinear " + merger +
               ".linear_fc1: PM*PD -> PMD bias\nlinear " + merger + ".linear_fc2: PMD -> D bias\n";
    rows += ", repeat(" + merger + ".linear_fc2(gelu(" + merger + ".linear_fc1(" + merger +
            ".norm(split(of" + number + ", \"(pn pm) pd -> pn (pm pd)\"))))), P1)";
  }
  values.set("mergers", mergers);
  values.set("deep_rows", rows);
  values.set("rows", 1 + eyes.deep);
}

std::optional<Eyes> readEyes(FamilyWriter &writer, int64_t width, int64_t turned) {
  if (!writer.folder.around)
    return std::nullopt;
  Config outer(writer.folder.around->config, "config.json");
  const QwenEyes *kind =
      llvm::find_if(qwens, [type = outer.text("model_type", "")](const QwenEyes &one) {
        return one.type == type;
      });
  if (kind == std::end(qwens))
    return std::nullopt;
  Eyes eyes;
  raw_string_ostream os(eyes.text);
  FamilyWriter own{writer.folder, writer.config,       os,         writer.type,
                   writer.model,  writer.architecture, writer.task};
  Config vision = outer.within("vision_config");
  TemplateValues values;
  setQwen(own, *kind, vision, width, eyes, values);
  StringRef key = writer.config.has("rope_scaling") ? "rope_scaling" : "rope_parameters";
  Config angles = writer.config.within(key);
  eyes.kindOfPair = kindOfPair(writer.config, angles, kind->isSpread, turned / 2);
  writeTemplate(own, "qwen_vl", values);
  outer.adopt(vision);
  writer.config.adopt(outer);
  writer.config.adopt(angles);
  return eyes;
}

} // namespace attn::importer
