// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gong et al. 2021, "AST: Audio Spectrogram Transformer": a vision transformer whose picture is a
// spectrogram, cut into patches that overlap.
#include "compiler/import/checkpoint/families/Vit.h"

using namespace llvm;

namespace attn::importer {

/// How a sound becomes the spectrogram, by preprocessor_config.json; empty where nothing says.
static std::string soundLine(FamilyWriter &writer, int64_t bands, int64_t frames) {
  Config &config = writer.config;
  if (!writer.folder.preprocessor) {
    config.note("there is no `preprocessor_config.json`: the spec does not say how a sound becomes "
                "the tensor");
    return "";
  }
  Config values(*writer.folder.preprocessor, writer.folder.preprocessorFile);
  if (values.size("num_mel_bins", 128) != bands)
    values.refuse("num_mel_bins", "that of config.json, " + Twine(bands));
  if (values.size("max_length", 1024) != frames)
    values.refuse("max_length", "that of config.json, " + Twine(frames));
  int64_t rate = values.size("sampling_rate", 16000);
  // Kaldi's windows are of 25 ms in steps of 10.
  std::string line = "sound input C x W kaldi rate " + std::to_string(rate) + " fft " +
                     std::to_string(rate / 40) + " hop " + std::to_string(rate / 100);
  double mean = values.number("mean").value_or(-4.2677393),
         deviation = values.number("std").value_or(4.5689974);
  if (!(deviation > 0))
    values.refuse("std", "more than 0");
  if (values.flag("do_normalize", true))
    line += " mean " + numberText(mean) + " std " + numberText(2 * deviation);
  config.adopt(values);
  return line + "  // a sound becomes the spectrogram\n";
}

static void writeAst(FamilyWriter &writer) {
  Config &config = writer.config;
  bool isBare = writer.task.empty();
  // "ASTForAudioClassification", whose body has the name of the type.
  if (!isBare && writer.task != "ForAudioClassification")
    config.refuse("architectures", "the bare model, or `…ForAudioClassification`");
  int64_t patch = config.size("patch_size", 16), bands = config.size("num_mel_bins", 128),
          frames = config.size("max_length", 1024), down = config.size("frequency_stride", 10),
          across = config.size("time_stride", 10);
  if (bands < patch)
    config.refuse("num_mel_bins", "at least `patch_size`");
  if (frames < patch)
    config.refuse("max_length", "at least `patch_size`");
  TemplateValues values;
  values.set("model", writer.model);
  values.set("prefix", isBare ? "" : "audio_spectrogram_transformer.");
  values.set("width", config.size("hidden_size"));
  values.set("heads", config.size("num_attention_heads"));
  values.set("layers", config.size("num_hidden_layers"));
  values.set("hidden", config.size("intermediate_size"));
  values.set("bands", bands), values.set("frames", frames), values.set("patch", patch);
  values.set("down", down), values.set("across", across);
  values.set("rows", std::max<int64_t>(bands - patch, 0) / down + 1);
  values.set("columns", std::max<int64_t>(frames - patch, 0) / across + 1);
  values.setIf("classified", !isBare);
  if (!isBare)
    values.set("classes", classCount(config));
  values.set("eps", numberText(config.number("layer_norm_eps", 1e-12)));
  values.set("layer", vitLayer(writer)), values.set("sound", soundLine(writer, bands, frames));
  writeTemplate(writer, "ast", values);
}

const Family familyAst = {"audio-spectrogram-transformer", writeAst};

} // namespace attn::importer
