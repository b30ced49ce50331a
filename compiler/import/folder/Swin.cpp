// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Swin: Liu et al. 2021, "Swin Transformer: Hierarchical Vision Transformer using Shifted Windows",
// with the names of Hugging Face's checkpoints.
#include "compiler/import/folder/Families.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// Writes one Swin.
class SwinWriter {
public:
  explicit SwinWriter(FamilyWriter &writer)
      : writer(writer), config(writer.config), os(writer.os) {}
  void write();

private:
  void readSizes();
  void writeParameters();
  void writeBlocks();
  void writeEntry();
  /// The side of the grid of a stage, and its width.
  int64_t gridOf(size_t stage) const { return side / patch >> stage; }
  int64_t widthOf(size_t stage) const { return width << stage; }

  FamilyWriter &writer;
  Config &config;
  raw_ostream &os;
  std::string prefix, eps, picture;
  std::vector<int64_t> depths, heads;
  int64_t width = 0, side = 0, patch = 1, window = 1, ratio = 4, classes = 0;
};

} // namespace

void SwinWriter::readSizes() {
  width = config.size("embed_dim");
  patch = config.size("patch_size");
  window = config.size("window_size");
  ratio = static_cast<int64_t>(config.number("mlp_ratio", 4));
  depths = config.sizes("depths");
  heads = config.sizes("num_heads");
  eps = numberText(config.number("layer_norm_eps", 1e-5));
  Picture found = readPicture(writer, config.size("image_size"));
  side = found.side, picture = found.line;
  if (depths.empty() || depths.size() > 8 || heads.size() != depths.size())
    config.refuse("depths", "a number of blocks for each stage, as many as `num_heads` has");
  if (config.flag("use_absolute_embeddings", false))
    config.refuse("use_absolute_embeddings", "false");
  if (!config.flag("qkv_bias", true))
    config.refuse("qkv_bias", "true");
  for (size_t s = 0; s < depths.size() && s < heads.size(); ++s)
    if (depths[s] < 1 || heads[s] < 1 || side % patch || (side / patch) % (1 << s) ||
        gridOf(s) % window || widthOf(s) % heads[s]) {
      config.refuse("window_size", "windows that divide the grid of each stage, and heads that "
                                   "divide its width");
      break;
    }
  prefix = writer.folder.has("swin.layernorm.weight") ? "swin." : "";
  if (!writer.task.empty() && writer.task != "ForImageClassification")
    config.refuse("architectures", "a bare model, or `…ForImageClassification`");
  classes = classCount(config);
}

void SwinWriter::writeParameters() {
  os << "model " << writer.model << " {\ndim C = " << config.size("num_channels", 3)
     << ", P = " << patch << ", Q = " << patch << ", M = " << window;
  if (!writer.task.empty())
    os << ", K = " << classes;
  os << "  // channels, patch, window" << (writer.task.empty() ? "" : ", classes") << '\n';
  for (size_t s = 0; s < depths.size(); ++s)
    os << "dim Y" << s + 1 << " = " << gridOf(s) << ", X" << s + 1 << " = " << gridOf(s) << ", D"
       << s + 1 << " = " << widthOf(s) << '\n';
  std::string last = std::to_string(depths.size());
  os << "dyn B <= 16\n\nlinear " << prefix
     << "embeddings.patch_embeddings.projection: C, P, Q -> D1 bias\nlayernorm " << prefix
     << "embeddings.norm: D1 eps " << eps << '\n';
  for (size_t s = 0; s < depths.size(); ++s) {
    std::string stage = prefix + "encoder.layers." + std::to_string(s) + ".";
    os << "stack " << stage << "blocks: " << depths[s] << " of Layer[H: " << heads[s]
       << ", F: " << ratio * widthOf(s) << ", M: M]";
    if (gridOf(s) > window && depths[s] > 1) // one window sees all
      os << "(shift = if n % 2 == 1 then " << window / 2 << " else 0)";
    os << '\n';
    if (s + 1 < depths.size())
      os << "part " << stage << "downsample: PatchMerging[Y2: Y" << s + 2 << ", X2: X" << s + 2
         << ", E: D" << s + 2 << "]\n";
  }
  os << "layernorm " << prefix << "layernorm: D" << last << " eps " << eps << '\n';
  if (!writer.task.empty())
    os << "linear classifier: D" << last << " -> K bias\n";
  if (llvm::any_of(writer.folder.shapes, [](const auto &tensor) {
        return StringRef(tensor.first).ends_with("relative_position_index");
      }))
    os << "ignore \"*.relative_position_index\"  // computed here\n";
  os << '\n';
}

void SwinWriter::writeBlocks() {
  os << "block Window[N, D, H, M](x: [N, D]; allowed = true) -> [N, D] {\ndim E = D / H, R = (2 * "
        "M - 1) ** 2\n"
     << "linear self.query, self.key, self.value: D -> H, E bias\nlinear output.dense: H, E -> D "
        "bias\n"
     << "param table: [R, H] = \"self.relative_position_bias_table\"\n"
     << "return output.dense(attend self.query(x) over self.key(x), self.value(x) along N as S "
        "{\nbias in_window(M)\nmask allowed\n})\n}\n\n"
     << "block Layer[Y, X, D, H, F, M](x: [Y, X, D]; shift = 0) -> [Y, X, D] {\ndim GY = Y / M, GX "
        "= X / M, A = M, Z = M\n"
     << "layernorm layernorm_before, layernorm_after: D eps " << eps
     << "\npart attention: Window[H: H, M: M]\n"
     << "linear intermediate.dense: D -> F bias\nlinear output.dense: F -> D bias\n"
     << "// Of the last windows, places before and behind what the roll has brought there.\n"
     << "mask rows(gy, i, j) = gy < GY - 1 or floor((floor(i / M) + shift) / M) == floor((floor(j "
        "/ M) + shift) / M)\n"
     << "mask columns(gx, i, j) = gx < GX - 1 or floor((i % M + shift) / M) == floor((j % M + "
        "shift) / M)\n"
     << "let rolled = roll(layernorm_before(x), Y by -shift, X by -shift)\n"
     << "let seen = attention(split(rolled, \"(gy a) (gx z) d -> gy gx (a z) d\"), allowed = shift "
        "== 0 or (rows and columns))\n"
     << "let joined = relabel(split(seen, \"gy gx (a z) d -> (gy a) (gx z) d\"), GY * A as Y, GX * "
        "Z as X)\n"
     << "let y = x + roll(joined, Y by shift, X by shift)\nreturn y + output.dense("
     << activation(config, "hidden_act", "gelu", "intermediate.dense(layernorm_after(y))")
     << ")\n}\n\n";
}

void SwinWriter::writeEntry() {
  size_t count = depths.size();
  bool isBare = writer.task.empty();
  std::string last = std::to_string(count);
  os << picture << "entry " << (isBare ? "encode" : "classify") << "(image: [B, C, Y1*P, X1*Q]) -> "
     << (isBare ? "hidden: [B, Y" + last + ", X" + last + ", D" + last + "]" : "scores: [B, K]")
     << " {\nlet x1 = " << prefix << "embeddings.norm(" << prefix
     << "embeddings.patch_embeddings.projection(split(image, \"b c (y1 p) (x1 q) -> b y1 x1 c p "
        "q\")))\n";
  for (size_t s = 0; s + 1 < count; ++s) {
    std::string stage = prefix + "encoder.layers." + std::to_string(s) + ".";
    os << "let x" << s + 2 << " = " << stage << "downsample(" << stage << "blocks(x" << s + 1
       << "))\n";
  }
  os << "let y = " << prefix << "layernorm(" << prefix << "encoder.layers." << count - 1
     << ".blocks(x" << last << "))\nreturn "
     << (isBare ? "y" : "classifier(mean(Y" + last + ", X" + last + ", y))") << "\n}\n}\n";
}

void SwinWriter::write() {
  readSizes();
  os << "use std.vision\n";
  if (depths.empty() || heads.size() != depths.size()) // said already
    return;
  writeParameters();
  writeBlocks();
  writeEntry();
}

void writeSwin(FamilyWriter &writer) { SwinWriter(writer).write(); }

} // namespace attn::importer
