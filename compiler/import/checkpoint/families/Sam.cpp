// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The encoder of pictures of SAM, with the names of Hugging Face's checkpoints.
//
//   Li et al. 2022, "Exploring Plain Vision Transformer Backbones for Object Detection" (ViTDet);
//   Kirillov et al. 2023, "Segment Anything": layers that attend in windows, but for some
#include "compiler/import/checkpoint/Families.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// Writes one encoder.
class SamWriter {
public:
  SamWriter(FamilyWriter &writer, Config &config) : writer(writer), config(config), os(writer.os) {}
  void write();

private:
  void noteDefaults();
  void readSizes();
  void readPictureLine();
  void writeParameters();
  void writeLayers();
  void ignoreRest();
  void writeLayer();
  void writeEntry();
  std::string layer(int64_t n) const { return prefix + "layers." + std::to_string(n); }

  FamilyWriter &writer;
  Config &config;
  raw_ostream &os;
  const std::string prefix = "vision_encoder.";
  std::string eps, picture;
  std::vector<int64_t> globals;
  int64_t width = 0, heads = 0, layers = 0, hidden = 0, side = 0, patch = 1, window = 1;
  bool hasPositions = true;
};

} // namespace

void SamWriter::noteDefaults() {
  std::string silent;
  for (StringRef key :
       {"hidden_size", "num_attention_heads", "num_hidden_layers", "image_size", "patch_size",
        "window_size", "mlp_ratio", "layer_norm_eps", "global_attn_indexes", "output_channels"})
    if (!config.has(key))
      silent += (silent.empty() ? "`" : ", `") + key.str() + "`";
  if (!silent.empty())
    config.note("the config of the encoder of pictures does not say " + silent +
                ": those of sam-vit-base, the defaults of the published class");
}

void SamWriter::readSizes() {
  noteDefaults();
  width = config.size("hidden_size", 768);
  heads = config.size("num_attention_heads", 12);
  layers = config.size("num_hidden_layers", 12);
  side = config.size("image_size", 1024);
  patch = config.size("patch_size", 16);
  window = config.size("window_size", 14);
  double ratio = config.has("mlp_ratio") ? config.number("mlp_ratio", 4) : 4;
  hidden = config.size("mlp_dim", std::max<int64_t>(int64_t(double(width) * ratio), 1));
  eps = numberText(config.has("layer_norm_eps") ? config.number("layer_norm_eps", 1e-6) : 1e-6);
  hasPositions = config.flag("use_abs_pos", true);
  globals = config.has("global_attn_indexes") ? config.sizes("global_attn_indexes")
                                              : std::vector<int64_t>{2, 5, 8, 11};
  if (!config.flag("use_rel_pos", true))
    config.refuse("use_rel_pos", "true");
  if (!config.flag("qkv_bias", true))
    config.refuse("qkv_bias", "true");
  if (width % heads)
    config.refuse("num_attention_heads", "a divisor of `hidden_size`");
  if (side % patch)
    config.refuse("image_size", "a multiple of `patch_size`");
  if (layers > 256)
    config.refuse("num_hidden_layers", "256 or less");
}

void SamWriter::readPictureLine() {
  Picture found = readPicture(writer, side);
  picture = found.line;
  if (found.side != side)
    config.refuse("image_size", "the picture's side, " + Twine(found.side));
}

void SamWriter::writeParameters() {
  os << "use std.vision\nmodel " << writer.model << " {\ndim D = " << width << ", H = " << heads
     << ", F = " << hidden << ", M = " << window
     << "  // width, heads, feed-forward, windows\ndim C = " << config.size("num_channels", 3)
     << ", P = " << patch << ", Q = " << patch << ", Y = " << side / patch
     << ", X = " << side / patch << ", O = " << config.size("output_channels", 256)
     << ", U = O, K = 3, L = 3  // channels, patch, grid, features that come out, convolution\n"
     << "dyn B <= 8\n\nlinear " << prefix << "patch_embed.projection: C, P, Q -> D bias\n";
  if (hasPositions)
    os << "param " << prefix << "pos_embed: [Y, X, D]\n";
  writeLayers();
  os << "linear " << prefix << "neck.conv1: D -> U\nlayernorm " << prefix
     << "neck.layer_norm1: U eps 1e-6\nlinear " << prefix << "neck.conv2: U, K, L -> O\nlayernorm "
     << prefix << "neck.layer_norm2: O eps 1e-6\n";
  ignoreRest();
  os << '\n';
}

void SamWriter::writeLayers() {
  for (bool isGlobal : {false, true}) {
    std::string names;
    for (int64_t n = 0; n < layers; ++n)
      if (is_contained(globals, n) == isGlobal)
        names += (names.empty() ? "" : ", ") + layer(n);
    if (!names.empty())
      os << "part " << names << ": Layer" << (isGlobal ? "(windowed = false)" : "") << '\n';
  }
}

void SamWriter::ignoreRest() {
  bool isWhole = true;
  for (StringRef part : {"prompt_encoder", "mask_decoder", "shared_image_embedding"})
    if (any_of(writer.folder.shapes, [&](const auto &tensor) {
          return StringRef(tensor.first).starts_with((part + ".").str());
        })) {
      os << "ignore \"" << part << ".*\"\n";
      isWhole = false;
    }
  if (!isWhole)
    config.note("the encoder of prompts and the decoder of masks are left out: the result is what "
                "the encoder of pictures gives them");
}

void SamWriter::writeLayer() {
  os << "// Behind the last row and column of a windowed layer come zeros that make whole windows; "
        "they are seen like other places.\n"
     << "block Layer(x: [Y, X, D]; windowed = true) -> [Y, X, D] {\n"
     << "dim PY = Y + (-Y) % M, PX = X + (-X) % M, GY = PY / M, GX = PX / M, R = M, S = M\n"
     << "layernorm layer_norm1, layer_norm2: D eps " << eps
     << "\npart attn: DecomposedAttention[H: H]\nlinear mlp.lin1: D -> F bias\nlinear mlp.lin2: F "
        "-> D bias\nlet n = layer_norm1(x)\n"
     << "let padded = if windowed then pad(n, Y = PY by 0, PY - Y, X = PX by 0, PX - X) else n\n"
     << "let seen = if windowed then attn(split(padded, \"(gy r) (gx s) d -> gy gx r s d\")) else "
        "attn(n)\n"
     << "let joined = if windowed then split(seen, \"gy gx r s d -> (gy r) (gx s) d\") else seen\n"
     << "let y = x + (if windowed then slice(slice(joined, GY * R from 0 to Y), GX * S from 0 to "
        "X) else joined)\nreturn y + mlp.lin2("
     << activation(config, "hidden_act", "gelu", "mlp.lin1(layer_norm2(y))") << ")\n}\n\n";
}

void SamWriter::writeEntry() {
  os << picture
     << "entry encode(image: [B, C, Y*P, X*Q]) -> hidden: [B, O, Y, X] {\nlet x0 = " << prefix
     << "patch_embed.projection(split(image, \"b c (y p) (x q) -> b y x c p q\"))"
     << (hasPositions ? " + " + prefix + "pos_embed" : "") << '\n';
  for (int64_t n = 0; n < layers; ++n)
    os << "let x" << n + 1 << " = " << layer(n) << "(x" << n << ")\n";
  std::string neck = prefix + "neck.";
  os << "let first = " << neck << "layer_norm1(" << neck << "conv1(x" << layers
     << "))\nlet y = " << neck << "layer_norm2(" << neck
     << "conv2(windows(first, Y as K, X as L, pad = 1)))\nreturn split(y, \"b y x o -> b o y x\")\n"
        "}\n}\n";
}

void SamWriter::write() {
  readSizes();
  readPictureLine();
  writeParameters();
  writeLayer();
  writeEntry();
}

static void writeSam(FamilyWriter &writer) {
  if (writer.type != "sam")
    return SamWriter(writer, writer.config).write();
  Config values = writer.config.within("vision_config");
  SamWriter(writer, values).write();
  writer.config.adopt(values);
}

const Family familySam = {"sam sam_vision_model", writeSam};

} // namespace attn::importer
