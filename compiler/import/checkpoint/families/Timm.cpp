// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vision transformers of timm, whose config.json names an `architecture`, and leaves the sizes to
// the tensors.
#include "compiler/import/checkpoint/Families.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

namespace {

/// Writes one vision transformer.
class TimmWriter {
public:
  explicit TimmWriter(FamilyWriter &writer)
      : writer(writer), config(writer.config), os(writer.os), shapes(writer.folder.shapes) {}
  void write();

private:
  /// The size of a tensor along an axis; 1 and an error where there is none such.
  int64_t sizeOf(StringRef tensor, size_t axis, size_t rank);
  void readSizes();
  /// Refuses a picture of another size than the tensors are of.
  void checkTensor(Config &own);
  std::string pictureLine();
  void writeModel();
  void writeEntry();

  FamilyWriter &writer;
  Config &config;
  raw_ostream &os;
  const std::map<std::string, SmallVector<int64_t>> &shapes;
  int64_t width = 1, heads = 1, layers = 0, hidden = 1, classes = 0, channels = 3, patch = 16,
          side = 224, front = 1;
  bool isScaled = false, hasTeacher = false, isMean = false, hasFinalNorm = false;
};

} // namespace

int64_t TimmWriter::sizeOf(StringRef tensor, size_t axis, size_t rank) {
  auto found = shapes.find(tensor.str());
  if (found != shapes.end() && found->second.size() == rank)
    return found->second[axis];
  config.refuse("architecture",
                "a vision transformer with a tensor `" + tensor + "` of " + Twine(rank) + " axes");
  return 1;
}

void TimmWriter::checkTensor(Config &own) {
  std::vector<double> size = own.numbers("input_size");
  if (!size.empty() && (size.size() != 3 || size[0] != double(channels) ||
                        size[1] != double(side) || size[2] != double(side)))
    own.refuse("input_size", "[" + Twine(channels) + ", " + Twine(side) + ", " + Twine(side) +
                                 "], as the tensors say");
}

void TimmWriter::readSizes() {
  width = sizeOf("patch_embed.proj.weight", 0, 4);
  channels = sizeOf("patch_embed.proj.weight", 1, 4);
  patch = sizeOf("patch_embed.proj.weight", 2, 4);
  hidden = sizeOf("blocks.0.mlp.fc1.weight", 0, 2);
  while (writer.folder.has("blocks." + std::to_string(layers) + ".norm1.weight"))
    ++layers;
  hasTeacher = writer.folder.has("dist_token");
  front = hasTeacher ? 2 : 1;
  isScaled = writer.folder.has("blocks.0.ls1.gamma");
  if (writer.folder.has("head.weight"))
    classes = sizeOf("head.weight", 0, 2);
  hasFinalNorm = writer.folder.has("norm.weight");
  isMean = config.text("global_pool", "token") == "avg";
  // What the architecture's name says: tiny 3, small 6, base 12; large, huge and larger ones 16.
  static constexpr std::pair<int64_t, int64_t> known[] = {
      {192, 3}, {384, 6}, {768, 12}, {1024, 16}, {1280, 16}, {1152, 16}, {1408, 16}, {1664, 16}};
  heads = width % 64 == 0 ? width / 64 : 1;
  for (auto [ofWidth, count] : known)
    if (width == ofWidth)
      heads = count;
  Config arguments = config.within("model_args");
  if (std::optional<int64_t> own = arguments.whole("num_heads"))
    heads = *own;
  config.adopt(arguments);
  if (heads < 1 || width % heads)
    config.refuse("architecture", "a width that its heads divide");
  int64_t tokens = sizeOf("pos_embed", 1, 3) - front;
  int64_t grid = 1;
  while (grid * grid < tokens)
    ++grid;
  if (grid * grid != tokens || writer.folder.has("reg_token"))
    config.refuse("architecture", "positions of the class token and of a square grid");
  side = grid * patch;
}

std::string TimmWriter::pictureLine() {
  if (!config.has("pretrained_cfg")) {
    config.note(
        "`config.json` has no `pretrained_cfg`: the spec does not say how a picture becomes "
        "the tensor");
    return "";
  }
  Config own = config.within("pretrained_cfg");
  checkTensor(own);
  std::string filter = own.text("interpolation", "bicubic"), words = std::to_string(side),
              line = "image input " + words + " x " + words, mode = own.text("crop_mode", "center");
  if (filter != "bicubic" && filter != "bilinear" && filter != "nearest" && filter != "lanczos")
    own.refuse("interpolation", "`bicubic`, `bilinear`, `nearest` or `lanczos`");
  if (mode != "center" && mode != "squash")
    own.refuse("crop_mode", "`center` or `squash`");
  // Sides become a little longer, and the middle is taken: of a whole picture that is squashed, or
  // of one whose shorter side is as long.
  double part = own.number("crop_pct").value_or(0.875);
  if (!(part > 0 && part <= 1)) {
    own.refuse("crop_pct", "more than 0, and up to 1");
    part = 1;
  }
  std::string length = std::to_string(static_cast<int64_t>(std::floor(double(side) / part)));
  bool isWhole = mode == "squash" && length == words;
  if (!isWhole)
    line += " from " + length + (mode == "squash" ? " x " + length : "") + " round";
  line += " " + filter;
  // Of ImageNet, where nothing is said.
  std::string mean = numbersText(own, "mean"), deviation = numbersText(own, "std");
  line += " mean " + (mean.empty() ? "[0.485, 0.456, 0.406]" : mean);
  line += " std " + (deviation.empty() ? "[0.229, 0.224, 0.225]" : deviation);
  config.adopt(own);
  return line + "  // a picture becomes the tensor\n";
}

void TimmWriter::writeModel() {
  os << "model Vit {\ndim D = " << width << ", H = " << heads << ", L = " << layers
     << ", F = " << hidden;
  if (classes)
    os << ", K = " << classes;
  os << "  // width, heads, layers, feed-forward" << (classes ? ", classes" : "")
     << "\ndim C = " << channels << ", P = " << patch << ", Q = " << patch
     << ", Y = " << side / patch << ", X = " << side / patch << ", N = " << front << " + Y * X"
     << (isMean ? ", G = Y * X" : "") << "  // channels, patch, grid, tokens\ndyn B <= 64\n\n"
     << "linear patch_embed.proj: C, P, Q -> D bias\nparam cls_token: [1, D]"
     << (hasTeacher ? ", dist_token: [1, D]" : "")
     << ", pos_embed: [N, D]\nstack blocks: L of VitBlock[H: H, F: F]"
     << (isScaled ? "(scaled = true)" : "") << '\n';
  if (hasFinalNorm)
    os << "layernorm norm: D eps 1e-6\n";
  if (writer.folder.has("fc_norm.weight"))
    os << "layernorm fc_norm: D eps 1e-6\n";
  if (classes)
    os << "linear head" << (hasTeacher ? ", head_dist" : "") << ": D -> K bias\n";
  os << '\n' << pictureLine();
}

void TimmWriter::writeEntry() {
  os << "entry " << (classes ? "classify" : "encode") << "(image: [B, C, Y*P, X*Q]) -> "
     << (classes ? "scores: [B, K]" : "hidden: [B, N, D]") << " {\n"
     << "let patches = patch_embed.proj(split(image, \"b c (y p) (x q) -> b (y x) c p q\"))\n"
     << "let x = blocks(pack(N, cls_token, " << (hasTeacher ? "dist_token, " : "")
     << "patches) + pos_embed)\n"
     << "let y = " << (hasFinalNorm ? "norm(x)" : "x") << '\n';
  std::string pooled =
      isMean ? "mean(G, slice(y, N from " + std::to_string(front) + " to N as G))" : "first(N, y)";
  if (writer.folder.has("fc_norm.weight"))
    pooled = "fc_norm(" + pooled + ")";
  if (!classes)
    os << "return y\n";
  else if (hasTeacher)
    os << "return (head(pick(y, N at 0)) + head_dist(pick(y, N at 1))) / 2\n";
  else
    os << "return head(" << pooled << ")\n";
  os << "}\n}\n";
}

void TimmWriter::write() {
  StringRef name = writer.architecture;
  if (!name.starts_with("vit_") && !name.starts_with("deit_"))
    config.refuse("architecture", "a vision transformer: `vit_…` or `deit_…`");
  if (name.contains("quickgelu"))
    config.refuse("architecture", "one with gelu as its activation");
  readSizes();
  os << "use std.vision\n";
  writeModel();
  writeEntry();
}

static void writeTimm(FamilyWriter &writer) { TimmWriter(writer).write(); }

const Family familyTimm = {"timm", writeTimm}; // whose config names an architecture instead

} // namespace attn::importer
