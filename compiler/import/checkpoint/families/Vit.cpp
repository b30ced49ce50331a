// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vision transformers with the names of Hugging Face's checkpoints.
//
//   Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words": vit
//   Touvron et al. 2021, "Training data-efficient image transformers": deit, with a second token
//   Oquab et al. 2023, "DINOv2": dinov2, with layers that are scaled
//   Bao et al. 2022, "BEiT: BERT Pre-Training of Image Transformers": beit, with layers that are
//     scaled, a table of relative positions, and keys without bias; Baevski et al. 2022, "data2vec"
//   Darcet et al. 2024, "Vision Transformers Need Registers": dinov2_with_registers
//   Assran et al. 2022, "Masked Siamese Networks", and 2023, "Self-Supervised Learning from Images
//     with a Joint-Embedding Predictive Architecture": vit_msn, and ijepa, without a class token
#include "compiler/import/checkpoint/families/Vit.h"

using namespace llvm;

namespace attn::importer {

namespace {

constexpr VitLayerNames vitNames = {"layernorm_before", "layernorm_after", "intermediate.dense",
                                    "output.dense",     "lambda_1",        "lambda_2"};
constexpr VitLayerNames dinoNames = {
    "norm1", "norm2", "mlp.fc1", "mlp.fc2", "layer_scale1.lambda1", "layer_scale2.lambda1"};

/// The table of relative positions, under an attention, or under the encoder.
constexpr StringRef relativeTable = "relative_position_bias.relative_position_bias_table";

} // namespace

VitWriter::VitWriter(FamilyWriter &writer)
    : writer(writer), config(writer.config), os(writer.os),
      isDino(StringRef(writer.type).starts_with("dinov2")), isDeit(writer.type == "deit"),
      isBeit(writer.type == "beit" || writer.type == "data2vec-vision"),
      isMae(writer.type == "vit_mae"), hasClass(writer.type != "ijepa"),
      names(isDino ? dinoNames : vitNames) {}

void VitWriter::readLayers() {
  width = config.size("hidden_size");
  heads = config.size("num_attention_heads");
  hidden = isDino ? width * config.size("mlp_ratio", 4) : config.size("intermediate_size");
  eps = numberText(
      config.number("layer_norm_eps", isDino || writer.type == "vit_msn" ? 1e-6 : 1e-12));
  hasBias = config.flag("qkv_bias", true);
  isGated = config.flag("use_swiglu_ffn", false);
  if (isGated) // as the published code rounds it
    hidden = (hidden * 2 / 3 + 7) / 8 * 8;
  if (width % heads)
    config.refuse("num_attention_heads", "a divisor of `hidden_size`");
  isScaled = isDino;
}

void VitWriter::readSizes() {
  readLayers();
  channels = config.size("num_channels", 3);
  patch = config.size("patch_size");
  int64_t image = config.size("image_size");
  if (image % patch)
    config.refuse("image_size", "a multiple of `patch_size`");
  learnt = grid = std::max<int64_t>(image / patch, 1);
  hasTeacher = writer.task == "ForImageClassificationWithTeacher";
  if (isMae && writer.task == "ForPreTraining") {
    writer.task = ""; // what is made of patches that are not seen is of training
    config.note("the decoder is left out, and no patch is: `mask_ratio` is of training");
  }
  if (!writer.task.empty() && writer.task != "ForImageClassification" && !hasTeacher)
    config.refuse("architectures", "a bare model, or `…ForImageClassification`");
  std::string body = (writer.type == "vit_msn" || isMae ? "vit" : writer.type) + ".";
  std::replace(body.begin(), body.end(), '-', '_');
  if (!writer.within.empty())
    body = writer.within;
  prefix = writer.folder.has(body + "embeddings.patch_embeddings.projection.weight") ? body : "";
  if (writer.type == "dinov2_with_registers")
    registers = config.size("num_register_tokens", 4);
  classes = classCount(config);
  isMean = !hasClass;
  if (isBeit)
    readBeit();
}

void VitWriter::readBeit() {
  hasBias = true; // of queries and values
  hasPositions = config.flag("use_absolute_position_embeddings", false);
  hasTable = config.flag("use_relative_position_bias", false);
  hasSharedTable = config.flag("use_shared_relative_position_bias", false);
  isMean = config.flag("use_mean_pooling", true);
  isScaled = config.number("layer_scale_init_value", 0.1) > 0;
  if (hasTable && hasSharedTable)
    config.refuse("use_shared_relative_position_bias",
                  "false where each layer has a table of its own");
}

void VitWriter::writeHeads() {
  if (hasTeacher)
    os << "linear cls_classifier, distillation_classifier: D -> K bias\n";
  else if (!writer.task.empty())
    os << "linear classifier: " << (isDino ? "D2" : "D") << " -> K bias\n";
  for (StringRef name : {"pooler.dense.weight", "embeddings.mask_token"})
    if (writer.folder.has(prefix + name.str()))
      os << "ignore \"" << prefix << (name.starts_with("pooler") ? "pooler.*" : name)
         << "\"  // no result needs it\n";
  if (isMae && writer.folder.hasWithin("decoder"))
    os << "ignore \"decoder.*\"  // of training\n";
  if (llvm::any_of(writer.folder.shapes, [](const auto &tensor) {
        return StringRef(tensor.first).ends_with("relative_position_index");
      }))
    os << "ignore \"*.relative_position_index\"  // computed here\n";
}

void VitWriter::writeParameters() {
  if (hasTable || hasSharedTable)
    os << "use std.vision\n";
  os << "model " << writer.model << " {\ndim D = " << width << ", H = " << heads
     << ", E = D / H, L = " << config.size("num_hidden_layers", 12) << ", F = " << hidden;
  if (!writer.task.empty())
    os << ", K = " << classes << (isDino ? ", D2 = D + D" : "");
  os << "  // width, heads, features of a head, layers, feed-forward"
     << (writer.task.empty() ? "" : ", classes") << "\ndim C = " << channels << ", P = " << patch
     << ", Q = " << patch << ", Y = " << grid << ", X = " << grid << ", " << placed() << " = "
     << front() << " + Y * X"
     << ((isDino || (isMean && hasClass)) && (registers || !writer.task.empty()) ? ", G = Y * X"
                                                                                 : "")
     << (hasTable || hasSharedTable ? ", R = (2 * Y - 1) * (2 * X - 1) + 3" : "")
     << "  // channels, patch, grid, tokens"
     << (hasTable || hasSharedTable ? ", relative positions" : "") << '\n';
  if (registers)
    os << "dim R = " << registers << ", N = N0 + R  // registers, all tokens\n";
  bool isResized = learnt != grid;
  if (isResized)
    os << "dim Y0 = " << learnt << ", X0 = " << learnt << ", M = " << front()
       << " + Y0 * X0, A = Y0 * X0  // the grid that positions were learnt on\n";
  os << "dyn B <= 64\n\nlinear " << prefix
     << "embeddings.patch_embeddings.projection: C, P, Q -> D bias\n";
  if (hasClass)
    os << "param " << prefix << "embeddings.cls_token: [1, D]\n";
  if (isDeit)
    os << "param " << prefix << "embeddings.distillation_token: [1, D]\n";
  if (registers)
    os << "param " << prefix << "embeddings.register_tokens: [R, D]\n";
  if (hasPositions)
    os << "param " << prefix << "embeddings.position_embeddings: [" << (isResized ? "M" : placed())
       << ", D]\n";
  os << "stack " << prefix << "encoder.layer: L of " << (keepsStates ? "Kept" : "Layer") << '\n';
  if (hasSharedTable)
    os << "param relative: [R, H] = \"" << prefix << "encoder." << relativeTable << "\"\n";
  bool isNormedMean = isMean && isBeit;
  if (!isNormedMean || !writer.task.empty())
    os << "layernorm " << prefix << (isNormedMean ? "pooler.layernorm" : "layernorm") << ": D eps "
       << eps << '\n';
  else if (writer.folder.has(prefix + "pooler.layernorm.weight"))
    os << "ignore \"" << prefix << "pooler.layernorm.*\"  // of the mean, which is no result\n";
  writeHeads();
  if (registers && isResized)
    writeSmoothedPositions();
  os << '\n';
}

void VitWriter::writeLayer() {
  os << "block Layer[T](x: [B, T, D]" << (hasSharedTable ? ", table: [R, H]" : "")
     << ") -> [B, T, D] {\nlayernorm " << names.firstNorm << ", " << names.secondNorm << ": D eps "
     << eps << "\nlinear attention.attention.query, " << (isBeit ? "" : "attention.attention.key, ")
     << "attention.attention.value: D -> H, E" << (hasBias ? " bias" : "")
     << (isBeit ? "\nlinear attention.attention.key: D -> H, E" : "")
     << "\nlinear attention.output.dense: H, E -> D bias\n";
  if (hasTable)
    os << "param table: [R, H] = \"attention.attention." << relativeTable << "\"\n";
  if (isGated)
    os << "linear mlp.a, mlp.b: D -> F bias = split(\"mlp.weights_in.{weight|bias}\", a b)\nlinear "
          "mlp.weights_out: F -> D bias\n";
  else
    os << "linear " << names.up << ": D -> F bias\nlinear " << names.down << ": F -> D bias\n";
  if (isScaled)
    os << "param " << names.firstScale << ", " << names.secondScale << ": [D]\n";
  auto scale = [&](StringRef by) { return isScaled ? (" * " + by).str() : std::string(); };
  std::string attended = "attention.output.dense(a)",
              mlp = isGated
                        ? "mlp.weights_out(silu(mlp.a(m)) * mlp.b(m))"
                        : (names.down + "(" +
                           activation(config, "hidden_act", "gelu", (names.up + "(m)").str()) + ")")
                              .str();
  os << "let n = " << names.firstNorm
     << "(x)\nlet a = attend attention.attention.query(n) over attention.attention.key(n), "
     << "attention.attention.value(n) along T as S { score scaled_dot"
     << (hasTable || hasSharedTable ? " bias in_picture(Y, X)" : "") << " }\nlet y = x + "
     << attended << scale(names.firstScale) << "\nlet m = " << names.secondNorm
     << "(y)\nreturn y + " << mlp << scale(names.secondScale) << "\n}\n\n";
}

void VitWriter::writeSmoothedPositions() {
  // A filter of Keys (1981), "Cubic convolution interpolation for digital image processing", with
  // -0.5, as wide as places are further apart than learnt ones.
  double scale = double(learnt) / double(grid), wide = std::max(scale, 1.0);
  std::string x = "abs(j + 0.5 - (i + 0.5) * " + numberText(scale) + ") / " + numberText(wide);
  for (StringRef side : {"Y", "X"})
    os << "table smooth" << side << "[i: " << side << ", j: " << side << "0] = if " << x
       << " < 1 then 1.5 * (" << x << ") ** 3 - 2.5 * (" << x << ") ** 2 + 1 else (if " << x
       << " < 2 then -0.5 * (" << x << ") ** 3 + 2.5 * (" << x << ") ** 2 - 4 * (" << x
       << ") + 2 else 0)\n";
}

void VitWriter::writeResizedPositions() {
  std::string at = prefix + "embeddings.position_embeddings";
  if (registers) {
    os << "let front = slice(" << at << ", M from 0 to 1)\nlet places = split(relabel(slice(" << at
       << ", M from 1 to M as A), A = Y0*X0), \"(y0 x0) d -> y0 x0 d\")\n"
       << "let down = sum(Y0, repeat(smoothY / repeat(sum(Y0, smoothY), Y0), X0, D) * places)\n"
       << "let across = sum(X0, repeat(smoothX / repeat(sum(X0, smoothX), X0), Y, D) * down)\n"
       << "let resized = split(across, \"x y d -> (y x) d\")\n";
    return;
  }
  os << "let front = slice(" << at << ", M from 0 to " << front()
     << ")\nlet places = relabel(slice(" << at << ", M from " << front()
     << " to M as A), A = Y0*X0)\nlet resized = split(resize(split(places, \"(y0 x0) d -> y0 x0 "
        "d\"), bicubic, Y0 = Y, X0 = X), \"y x d -> (y x) d\")\n";
}

void VitWriter::writeStates() {
  std::string e = prefix + "embeddings.", at = e + "position_embeddings";
  os << "let patches = " << e
     << "patch_embeddings.projection(split(image, \"b c (y p) (x q) -> b (y x) c p q\"))\n";
  if (hasPositions && learnt != grid) {
    writeResizedPositions();
    at = "pack(" + placed().str() + ", front, resized)";
  }
  std::string tokens = "relabel(patches, Y*X as N)";
  if (hasClass)
    tokens = "pack(" + placed().str() + ", " + e + "cls_token, " +
             (isDeit ? e + "distillation_token, " : "") + "patches)";
  os << "let " << (registers ? "placed" : "x") << " = " << tokens
     << (hasPositions ? " + " + at : "") << '\n';
  if (registers)
    os << "let x = pack(N, slice(placed, N0 from 0 to 1), " << e
       << "register_tokens, slice(placed, N0 from 1 to N0 as G))\n";
  os << (keepsStates ? "let y, states = " : "let y = ");
  std::string layers = prefix + "encoder.layer(x" + (hasSharedTable ? ", relative)" : ")");
  os << ((isMean && isBeit) || keepsStates ? layers : prefix + "layernorm(" + layers + ")") << '\n';
}

void VitWriter::writeEntry() {
  bool isBare = writer.task.empty();
  os << picture << "entry " << (isBare ? "encode" : "classify") << "(image: [B, C, Y*P, X*Q]) -> "
     << (isBare ? "hidden: [B, N, D]" : "scores: [B, K]") << " {\n";
  writeStates();
  if (isBare)
    os << "return y\n";
  else if (hasTeacher)
    os << "return (cls_classifier(pick(y, N at 0)) + distillation_classifier(pick(y, N at 1))) / "
          "2\n";
  else if (isDino)
    os << "return classifier(pack(D2, first(N, y), mean(G, slice(y, N from " << 1 + registers
       << " to N as G))))\n";
  else if (!hasClass)
    os << "return classifier(mean(N, y))\n";
  else if (isMean)
    os << "return classifier(" << prefix
       << "pooler.layernorm(mean(G, slice(y, N from 1 to N as G))))\n";
  else
    os << "return classifier(first(N, y))\n";
  os << "}\n}\n";
}

void VitWriter::read() {
  readSizes();
  Picture found = readPicture(writer, learnt * patch);
  if (found.side % patch)
    config.refuse("patch_size", "a divisor of the picture's side, " + Twine(found.side));
  grid = std::max<int64_t>(found.side / patch, 1);
  picture = found.line;
  if (grid != learnt && !hasClass)
    config.refuse("image_size", "the picture's side, " + Twine(found.side));
  if (grid != learnt && (hasTable || hasSharedTable))
    config.refuse("image_size", "the picture's side, " + Twine(found.side) +
                                    ", since a table of relative positions is of its grid");
}

void VitWriter::write() {
  read();
  writeParameters();
  writeLayer();
  writeEntry();
}

static void writeVit(FamilyWriter &writer) { VitWriter(writer).write(); }

std::string vitLayer(FamilyWriter &writer) {
  std::string text;
  raw_string_ostream os(text);
  FamilyWriter own{writer.folder, writer.config,       os,         writer.type,
                   writer.model,  writer.architecture, writer.task};
  VitWriter vit(own);
  vit.readLayers();
  vit.writeLayer();
  return text;
}

const Family familyVit = {
    "vit deit dinov2 beit dinov2_with_registers data2vec-vision vit_msn ijepa vit_mae", writeVit};

} // namespace attn::importer
