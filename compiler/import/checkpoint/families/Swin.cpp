// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Swin with the names of Hugging Face's checkpoints.
//
//   Liu et al. 2021, "Swin Transformer: Hierarchical Vision Transformer using Shifted Windows":
//   swin Liu et al. 2022, "Swin Transformer V2: Scaling Up Capacity and Resolution": swinv2, with
//     cosines as scores, norms behind attention and mlp, and a table that is computed
#include "compiler/import/checkpoint/Families.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// Writes one Swin.
class SwinWriter {
public:
  explicit SwinWriter(FamilyWriter &writer)
      : writer(writer), config(writer.config), os(writer.os), isV2(writer.type == "swinv2") {}
  void write();

private:
  void readSizes();
  void checkStage(size_t stage);
  void writeParameters();
  void writeStage(size_t stage);
  void writeWindow();
  void writeCosineWindow();
  void writeLayer();
  void writeEntry();
  /// The side of the grid of a stage, and its width.
  int64_t gridOf(size_t stage) const { return side / patch >> stage; }
  int64_t widthOf(size_t stage) const { return width << stage; }
  /// The side of its windows: v2's are no larger than the grid.
  int64_t windowOf(size_t stage) const { return isV2 ? std::min(window, gridOf(stage)) : window; }
  /// The side of its windows in training, which the table's differences are measured by.
  int64_t trainedOf(size_t stage) const {
    int64_t said = stage < trained.size() ? trained[stage] : 0;
    return said > 0 ? said : windowOf(stage);
  }

  FamilyWriter &writer;
  Config &config;
  raw_ostream &os;
  bool isV2;
  std::string prefix, eps, picture;
  std::vector<int64_t> depths, heads, trained;
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
  if (isV2)
    trained = config.sizes("pretrained_window_sizes");
  for (size_t s = 0; s < depths.size() && s < heads.size(); ++s)
    checkStage(s);
  std::string body = writer.type + ".";
  prefix = writer.folder.has(body + "layernorm.weight") ? body : "";
  if (!writer.task.empty() && writer.task != "ForImageClassification")
    config.refuse("architectures", "a bare model, or `…ForImageClassification`");
  classes = classCount(config);
}

void SwinWriter::checkStage(size_t s) {
  if (depths[s] < 1 || heads[s] < 1 || side % patch || (side / patch) % (1 << s) || gridOf(s) < 1 ||
      gridOf(s) % windowOf(s) || widthOf(s) % heads[s])
    config.refuse("window_size", "windows that divide the grid of each stage, and heads that "
                                 "divide its width");
  else if (isV2 && trainedOf(s) < 2)
    config.refuse("window_size", "windows of 2 x 2 places or more, whose differences can be "
                                 "measured by their side");
}

void SwinWriter::writeStage(size_t s) {
  std::string stage = prefix + "encoder.layers." + std::to_string(s) + ".";
  os << "stack " << stage << "blocks: " << depths[s] << " of Layer[H: " << heads[s]
     << ", F: " << ratio * widthOf(s) << ", M: ";
  if (windowOf(s) == window)
    os << 'M';
  else
    os << windowOf(s);
  os << ']';
  std::string given;
  if (gridOf(s) > window && depths[s] > 1) // one window sees all
    given = "shift = if n % 2 == 1 then " + std::to_string(window / 2) + " else 0";
  if (isV2 && trainedOf(s) != windowOf(s))
    given += (given.empty() ? "" : ", ") + ("trained = " + std::to_string(trainedOf(s)));
  if (!given.empty())
    os << '(' << given << ')';
  os << '\n';
  if (s + 1 < depths.size())
    os << "part " << stage << "downsample: PatchMerging[Y2: Y" << s + 2 << ", X2: X" << s + 2
       << ", E: D" << s + 2 << ']' << (isV2 ? "(v2 = true)" : "") << '\n';
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
     << "embeddings.norm: D1 eps 1e-5\n";
  for (size_t s = 0; s < depths.size(); ++s)
    writeStage(s);
  os << "layernorm " << prefix << "layernorm: D" << last << " eps " << eps << '\n';
  if (!writer.task.empty())
    os << "linear classifier: D" << last << " -> K bias\n";
  for (StringRef name : {"relative_position_index", "relative_coords_table"})
    if (llvm::any_of(writer.folder.shapes,
                     [&](const auto &tensor) { return StringRef(tensor.first).ends_with(name); }))
      os << "ignore \"*." << name << "\"  // computed here\n";
  os << '\n';
}

void SwinWriter::writeWindow() {
  os << "block Window[N, D, H, M](x: [N, D]; allowed = true) -> [N, D] {\ndim E = D / H, R = (2 * "
        "M - 1) ** 2\n"
     << "linear self.query, self.key, self.value: D -> H, E bias\nlinear output.dense: H, E -> D "
        "bias\n"
     << "param table: [R, H] = \"self.relative_position_bias_table\"\n"
     << "return output.dense(attend self.query(x) over self.key(x), self.value(x) along N as S "
        "{\nbias in_window(M)\nmask allowed\n})\n}\n\n";
}

void SwinWriter::writeCosineWindow() {
  os << "block Window[N, D, H, M](x: [N, D]; trained = M, allowed = true) -> [N, D] {\ndim E = D / "
        "H, W = 2 * M - 1, R = W ** 2, A = 2, U = 512\n"
     << "linear self.query, self.value: D -> H, E bias\nlinear self.key: D -> H, E\nlinear "
        "output.dense: H, E -> D bias\n"
     << "linear self.continuous_position_bias_mlp.0: A -> U bias\nlinear "
        "self.continuous_position_bias_mlp.2: U -> H\n"
     << "param logit_scale: [H] = \"self.logit_scale\"\n"
     << "// Of each pair of places, logarithms of the rows and of the columns between them.\n"
     << "table differences[r: R, a: A] = log((1 + max((if a == 0 then floor(r / W) else r % W) - M "
        "+ 1, 0) * 8 / (trained - 1)) / (1 - min((if a == 0 then floor(r / W) else r % W) - M + 1, "
        "0) * 8 / (trained - 1))) / log(8)\n"
     << "let table = 16 * sigmoid(self.continuous_position_bias_mlp.2(relu("
        "self.continuous_position_bias_mlp.0(differences))))\n"
     << "return output.dense(attend self.query(x) over self.key(x), self.value(x) along N as S "
        "{\nscore cosines\nbias in_window(M)\nmask allowed\n})\n}\n\n";
}

void SwinWriter::writeLayer() {
  os << "block Layer[Y, X, D, H, F, M](x: [Y, X, D]; shift = 0" << (isV2 ? ", trained = M" : "")
     << ") -> [Y, X, D] {\ndim GY = Y / M, GX = X / M, A = M, Z = M\n"
     << "layernorm layernorm_before, layernorm_after: D eps " << eps
     << "\npart attention: Window[H: H, M: M]" << (isV2 ? "(trained = trained)" : "") << '\n'
     << "linear intermediate.dense: D -> F bias\nlinear output.dense: F -> D bias\n"
     << "// Of the last windows, places before and behind what the roll has brought there.\n"
     << "mask rows(gy, i, j) = gy < GY - 1 or floor((floor(i / M) + shift) / M) == floor((floor(j "
        "/ M) + shift) / M)\n"
     << "mask columns(gx, i, j) = gx < GX - 1 or floor((i % M + shift) / M) == floor((j % M + "
        "shift) / M)\n"
     << "let rolled = roll(" << (isV2 ? "x" : "layernorm_before(x)")
     << ", Y by -shift, X by -shift)\n"
     << "let seen = attention(split(rolled, \"(gy a) (gx z) d -> gy gx (a z) d\"), allowed = shift "
        "== 0 or (rows and columns))\n"
     << "let joined = relabel(split(seen, \"gy gx (a z) d -> (gy a) (gx z) d\"), GY * A as Y, GX * "
        "Z as X)\n";
  std::string back = "roll(joined, Y by shift, X by shift)",
              inner = activation(config, "hidden_act", "gelu",
                                 isV2 ? "intermediate.dense(y)"
                                      : "intermediate.dense(layernorm_after(y))");
  os << "let y = x + " << (isV2 ? "layernorm_before(" + back + ")" : back) << "\nreturn y + "
     << (isV2 ? "layernorm_after(output.dense(" + inner + "))" : "output.dense(" + inner + ")")
     << "\n}\n\n";
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
  if (isV2)
    writeCosineWindow();
  else
    writeWindow();
  writeLayer();
  writeEntry();
}

static void writeSwin(FamilyWriter &writer) { SwinWriter(writer).write(); }

const Family familySwin = {"swin swinv2", writeSwin};

} // namespace attn::importer
