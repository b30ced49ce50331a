// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint to the list of its tensors, and to what the model's parameters find in it.
#include "Checkpoints.h"

#include "base/Dtype.h"
#include "io/Gguf.h"
#include "io/Llama2.h"
#include "io/Onnx.h"
#include "tools/attn/support/Report.h"
#include "weights/Match.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <fmt/format.h>

namespace attn::tool {

int failToRead(const attn::Error &error) {
  ExitCode code =
      error.status == ATTN_IO || error.status == ATTN_OUT_OF_MEMORY ? Environment : BadInput;
  return failWithMessage(code, error.text.c_str());
}

static std::string typeText(const char *dtype, const int64_t *shape, int32_t rank) {
  attn::Text text;
  text.append("%s", dtype);
  text.appendShape(shape, rank);
  return text.c_str();
}

static std::string quoted(const char *name, size_t length) {
  attn::Text text;
  text.appendQuoted(name, length);
  return text.c_str();
}

/// The tables of a model that has parameters and nothing else.
static attn_abi_model makeTables(const std::vector<attn_abi_parameter> &parameters,
                                 const std::vector<const char *> &ignores) {
  attn_abi_model tables = {};
  tables.abiVersion = ATTN_ABI_VERSION;
  tables.parameterCount = int32_t(parameters.size());
  tables.parameters = parameters.data();
  tables.ignoreCount = int32_t(ignores.size());
  tables.ignores = ignores.data();
  return tables;
}

/// How many layers of a parameter have a tensor of its shape; 1 is all of one without layers.
static int32_t countBound(const attn_abi_parameter &parameter, const attn::Checkpoint &checkpoint) {
  int32_t bound = 0;
  attn::Text name;
  for (int32_t layer = 0; layer < std::max(parameter.layers, 1); ++layer) {
    attn::expandName(parameter, layer, name);
    bound += checkpoint.find(name.c_str()) != nullptr;
  }
  return bound;
}

static void printBound(const attn_abi_model &tables, const attn::Checkpoint &checkpoint) {
  size_t width = 0;
  for (int32_t i = 0; i < tables.parameterCount; ++i)
    width = std::max(width, strlen(tables.parameters[i].pattern));
  for (int32_t i = 0; i < tables.parameterCount; ++i) {
    const attn_abi_parameter &parameter = tables.parameters[i];
    int32_t bound = countBound(parameter, checkpoint);
    std::string layers;
    if (parameter.layers)
      layers = fmt::format("  {} of {} layers", bound, parameter.layers);
    const char *kind = bound == 0 ? (parameter.isOptional ? "absent" : "missing")
                       : bound < std::max(parameter.layers, 1) ? "partly"
                                                               : "bound";
    llvm::outs() << "  " << llvm::left_justify(kind, 8) << ' '
                 << llvm::left_justify(parameter.pattern, unsigned(width)) << "  "
                 << typeText(attn_dtype_name(parameter.dtype), parameter.shape, parameter.rank)
                 << layers << "  " << parameter.location << '\n';
  }
}

static void printIgnored(const attn_abi_model &tables, const attn::Checkpoint &checkpoint) {
  for (const attn::StoredTensor &tensor : checkpoint.tensors())
    for (int32_t i = 0; i < tables.ignoreCount; ++i)
      if (attn::matchesWildcard(tables.ignores[i], tensor.name)) {
        llvm::outs() << "  ignored  " << quoted(tensor.name, tensor.nameLength) << "  "
                     << typeText(tensor.dtypeName, tensor.shape, tensor.rank) << "  by `"
                     << tables.ignores[i] << "`\n";
        break;
      }
}

int matchWeights(const std::vector<WantedTensor> &wanted, const std::vector<std::string> &ignores,
                 const std::string &path, bool isQuiet) {
  attn::Error error;
  attn::Checkpoint checkpoint;
  if (checkpoint.open(path.c_str(), error))
    return failToRead(error);
  std::vector<attn_abi_parameter> parameters;
  for (const WantedTensor &tensor : wanted)
    parameters.push_back({tensor.pattern.c_str(), tensor.dtype, tensor.layers,
                          int32_t(tensor.shape.size()), tensor.isOptional, tensor.shape.data(),
                          tensor.location.c_str()});
  std::vector<const char *> patterns;
  for (const std::string &pattern : ignores)
    patterns.push_back(pattern.c_str());
  attn_abi_model tables = makeTables(parameters, patterns);
  if (!isQuiet) {
    printBound(tables, checkpoint);
    printIgnored(tables, checkpoint);
  }
  attn::Binding binding;
  if (attn::matchCheckpoint(tables, checkpoint, binding, error))
    return failToRead(error);
  if (isQuiet)
    return Ok;
  size_t bound = 0;
  for (const attn::StoredTensor *tensor : binding.tensors)
    bound += tensor != nullptr;
  llvm::outs() << "all " << bound << " tensors of the model are bound\n";
  return Ok;
}

int readShapes(const std::string &path, std::map<std::string, llvm::SmallVector<int64_t>> &shapes) {
  attn::Error error;
  attn::Checkpoint checkpoint;
  if (checkpoint.open(path.c_str(), error))
    return failToRead(error);
  for (const attn::StoredTensor &tensor : checkpoint.tensors())
    shapes[std::string(tensor.name, tensor.nameLength)].assign(tensor.shape,
                                                               tensor.shape + tensor.rank);
  return Ok;
}

CheckpointKind kindOfCheckpoint(const std::string &path) {
  attn::Error error;
  attn::SourceFile file;
  char start[sizeof(attn::Llama2Header)] = {};
  attn::Llama2Header header;
  if (file.open(path.c_str(), error) || file.size() < 8 ||
      !file.read(0, std::min<uint64_t>(file.size(), sizeof start), start))
    return CheckpointKind::Other;
  if (attn::isOnnxName(path.c_str()))
    return CheckpointKind::Onnx;
  if (llvm::StringRef(start, 4) == "GGUF")
    return CheckpointKind::Gguf;
  if (attn::isLlama2(start, file.size(), header))
    return CheckpointKind::Llama2;
  return llvm::StringRef(path).ends_with(".safetensors") ? CheckpointKind::Safetensors
                                                         : CheckpointKind::Other;
}

int readLlama2Config(const std::string &path, llvm::json::Object &config) {
  attn::Error error;
  attn::SourceFile file;
  char start[sizeof(attn::Llama2Header)];
  attn::Llama2Header header;
  if (file.open(path.c_str(), error))
    return failToRead(error);
  if (!file.read(0, sizeof start, start) || !attn::isLlama2(start, file.size(), header))
    return fail(BadInput, "`" + path + "` is no checkpoint of llama2.c");
  config = llvm::json::Object{{"hidden_size", header.width},
                              {"intermediate_size", header.hidden},
                              {"num_hidden_layers", header.layers},
                              {"num_attention_heads", header.heads},
                              {"num_key_value_heads", header.keyHeads},
                              {"vocab_size", std::abs(header.tokens)},
                              {"max_position_embeddings", header.length},
                              {"tie_word_embeddings", header.isTied()},
                              // What its run.c ends at: a text begins anew.
                              {"eos_token_id", 1}};
  return Ok;
}

/// The decimal number with the fewest digits that is this float: 1e-6, not 9.99999997e-7.
static double shortest(float value) { return strtod(fmt::format("{}", value).c_str(), nullptr); }

/// A number, truth value or text; nothing of an array of texts, which no config has.
static std::optional<llvm::json::Value> jsonOf(const attn::GgufValue &value) {
  using attn::GgufKind;
  auto element = [&](size_t i) -> std::optional<llvm::json::Value> {
    switch (value.element) {
    case GgufKind::U8:
      return int64_t(value.at<uint8_t>(i));
    case GgufKind::I8:
      return int64_t(value.at<int8_t>(i));
    case GgufKind::U16:
      return int64_t(value.at<uint16_t>(i));
    case GgufKind::I16:
      return int64_t(value.at<int16_t>(i));
    case GgufKind::U32:
      return int64_t(value.at<uint32_t>(i));
    case GgufKind::I32:
      return int64_t(value.at<int32_t>(i));
    case GgufKind::U64:
    case GgufKind::I64:
      return value.at<int64_t>(i);
    case GgufKind::F32:
      return shortest(value.at<float>(i));
    case GgufKind::F64:
      return value.at<double>(i);
    case GgufKind::Bool:
      return value.at<uint8_t>(i) != 0;
    default:
      return std::nullopt;
    }
  };
  if (value.kind == GgufKind::String)
    return llvm::json::fixUTF8(llvm::StringRef(value.bytes.data + 8, value.bytes.size - 8));
  if (value.kind != GgufKind::Array)
    return element(0);
  constexpr uint64_t most = 4096; // more are of the vocabulary
  llvm::json::Array array;
  for (uint64_t i = 0; i < value.count && value.count <= most; ++i)
    if (auto one = element(size_t(i)))
      array.push_back(std::move(*one));
  return array.empty() ? std::nullopt : std::optional<llvm::json::Value>(std::move(array));
}

int readGgufValues(const std::string &path, llvm::json::Object &values) {
  attn::Error error;
  attn::Vector<char> bytes;
  if (attn::readGgufValueBytes(path.c_str(), bytes, error))
    return failToRead(error);
  attn::GgufReader reader{attn::Slice(bytes)};
  uint32_t version = 0;
  uint64_t tensors = 0, count = 0;
  reader.takeHeader(version, tensors, count);
  attn::eachGgufValue(reader, count, [&](attn::Slice key, const attn::GgufValue &value) {
    auto json = jsonOf(value); // of a list of texts only that it is there
    values[llvm::json::fixUTF8(llvm::StringRef(key.data, key.size))] =
        json ? std::move(*json) : llvm::json::Value("a list");
  });
  return Ok;
}

int readFloats(const std::string &path, const char *name, std::vector<double> &values) {
  attn::Error error;
  attn::Checkpoint checkpoint;
  if (checkpoint.open(path.c_str(), error))
    return failToRead(error);
  const attn::StoredTensor *tensor = checkpoint.find(name);
  int64_t count = 0;
  if (!tensor || !attn::isFloat(tensor->dtype) ||
      !attn::countElements(tensor->shape, tensor->rank, count))
    return Ok;
  attn::Vector<char> memory;
  const char *bytes = attn::Checkpoint::bytesOf(*tensor, memory, error);
  if (!bytes)
    return failToRead(error);
  for (int64_t i = 0; i < count; ++i)
    values.push_back(shortest(attn::loadFloat(bytes, tensor->dtype, i)));
  return Ok;
}

std::string readOnnxTensor(const std::string &path, const std::string &name, std::string &bytes) {
  attn::Error error;
  attn::SourceFile file;
  attn::Arena arena;
  attn::Vector<attn::SourceFile *> files;
  attn::Vector<attn::StoredTensor> tensors;
  attn::Vector<char> memory;
  std::string problem;
  if (file.open(path.c_str(), error) ||
      attn::readOnnxTensors(file, path.c_str(), attn::OnnxTensors::All, arena, files, tensors,
                            error))
    problem = error.text.c_str();
  for (attn::StoredTensor &tensor : tensors) {
    if (!problem.empty() || name != std::string(tensor.name, tensor.nameLength))
      continue;
    if (!tensor.file)
      tensor.file = &file;
    if (const char *found = attn::Checkpoint::bytesOf(tensor, memory, error))
      bytes.assign(found, tensor.bytes);
    else
      problem = error.text.c_str();
  }
  for (attn::SourceFile *external : files)
    attn::dispose(external);
  return problem;
}

static void printTensorsJson(const attn::Checkpoint &checkpoint) {
  llvm::json::Array tensors;
  for (const attn::StoredTensor &tensor : checkpoint.tensors()) {
    llvm::json::Array shape;
    for (int32_t a = 0; a < tensor.rank; ++a)
      shape.push_back(tensor.shape[a]);
    tensors.push_back(llvm::json::Object{
        {"name", llvm::json::fixUTF8(llvm::StringRef(tensor.name, tensor.nameLength))},
        {"dtype", tensor.dtypeName},
        {"shape", std::move(shape)},
        {"bytes", int64_t(tensor.bytes)}});
  }
  llvm::outs() << llvm::json::Value(llvm::json::Object{{"tensors", std::move(tensors)}}) << '\n';
}

int printCheckpoint(const std::string &path, bool isJson) {
  attn::Error error;
  attn::Checkpoint checkpoint;
  if (checkpoint.open(path.c_str(), error))
    return failToRead(error);
  if (isJson) {
    printTensorsJson(checkpoint);
    return Ok;
  }
  std::vector<std::string> names;
  size_t width = 0;
  for (const attn::StoredTensor &tensor : checkpoint.tensors()) {
    names.push_back(quoted(tensor.name, tensor.nameLength));
    width = std::max(width, std::min<size_t>(names.back().size(), 60));
  }
  int64_t elements = 0, bytes = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const attn::StoredTensor &tensor = checkpoint.tensors()[i];
    int64_t count = 1;
    for (int32_t a = 0; a < tensor.rank; ++a)
      count *= tensor.shape[a];
    elements += count;
    bytes += int64_t(tensor.bytes);
    llvm::outs() << llvm::left_justify(names[i], unsigned(width)) << "  "
                 << typeText(tensor.dtypeName, tensor.shape, tensor.rank) << '\n';
  }
  llvm::outs() << names.size() << " tensors, " << elements << " elements, " << bytes << " bytes\n";
  return Ok;
}

} // namespace attn::tool
