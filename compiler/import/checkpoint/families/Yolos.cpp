// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fang et al. 2021, "You Only Look at One Sequence": a vision transformer that is given learnt
// tokens behind those of patches, each of which finds an object.
#include "compiler/import/checkpoint/families/Vit.h"

using namespace llvm;

namespace attn::importer {

static void writeYolos(FamilyWriter &writer) {
  Config &config = writer.config;
  bool isBare = writer.task.empty();
  if (!isBare && writer.task != "ForObjectDetection")
    config.refuse("architectures", "the bare model, or `…ForObjectDetection`");
  int64_t patch = config.size("patch_size", 16), layers = config.size("num_hidden_layers", 12),
          heads = config.size("num_attention_heads");
  std::vector<int64_t> learnt = config.sizes("image_size");
  if (learnt.empty())
    learnt = {512, 864};
  if (learnt.size() != 2 || learnt[0] < patch || learnt[1] < patch) {
    config.refuse("image_size", "height and width, each at least `patch_size`");
    learnt = {patch, patch};
  }
  for (int64_t &side : learnt) // what is behind the last patch is not seen
    side -= side % patch;
  Picture picture{learnt[0], learnt[1], ""};
  if (writer.folder.preprocessor)
    picture = readFramedPicture(writer, 800, 1333, patch);
  else
    readPicture(writer, learnt[0]); // notes that nothing is said
  bool isResized = picture.side != learnt[0] || picture.width != learnt[1],
       hasMid = config.flag("use_mid_position_embeddings", true) && layers > 1;
  std::string prefix = isBare ? "" : "vit.";
  TemplateValues values;
  values.set("model", writer.model), values.set("prefix", prefix);
  values.set("width", config.size("hidden_size")), values.set("heads", heads);
  values.set("layers", layers), values.set("hidden", config.size("intermediate_size"));
  values.set("channels", config.size("num_channels", 3)), values.set("patch", patch);
  values.set("rows", picture.side / patch), values.set("columns", picture.width / patch);
  values.set("tokens", config.size("num_detection_tokens", 100));
  values.setIf("resized", isResized), values.set("placed", isResized ? "M" : "N");
  values.set("learntRows", learnt[0] / patch), values.set("learntColumns", learnt[1] / patch);
  values.setIf("mid", hasMid), values.setIf("detects", !isBare);
  values.setIf("pooled", writer.folder.hasWithin(prefix + "pooler.dense"));
  if (!isBare)
    values.set("classes", classCount(config) + 1);
  values.set("eps", numberText(config.number("layer_norm_eps", 1e-12)));
  values.set("layer", vitLayer(writer)), values.set("picture", picture.line);
  writeTemplate(writer, "yolos", values);
}

const Family familyYolos = {"yolos", writeYolos};

} // namespace attn::importer
