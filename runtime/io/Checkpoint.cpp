// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a path to tensors: one file, an index of shards, or what lies in a directory.
#include "io/Checkpoint.h"
#include "base/Dtype.h"
#include "base/Json.h"
#include "base/Tensor.h"
#include "io/ElementReader.h"
#include "io/Gguf.h"
#include "io/GgufFolder.h"
#include "io/Llama2.h"
#include "io/ModuleFolders.h"
#include "io/Onnx.h"
#include "io/PackedExperts.h"
#include "io/QuantizedTensor.h"
#include "io/Safetensors.h"
#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <functional>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;

static constexpr char indexSuffix[] = ".index.json", fileSuffix[] = ".safetensors";
static constexpr size_t maxIndex = 100 * 1000 * 1000;

static bool endsWith(const char *text, const char *suffix) {
  size_t length = strlen(text), wanted = strlen(suffix);
  return length >= wanted && strcmp(text + length - wanted, suffix) == 0;
}

Checkpoint::~Checkpoint() {
  for (SourceFile *file : files)
    dispose(file);
  for (QuantizedTensor *tensor : quantized)
    dispose(tensor);
}

const StoredTensor *Checkpoint::find(const char *name) const {
  if (int64_t index = names.find(name, strlen(name)); index >= 0)
    return &list[size_t(index)];
  for (const QuantizedTensor *made : quantized)
    for (const StoredTensor *part : {&made->codes, &made->scales})
      if (made->keepsParts() && strcmp(part->name, name) == 0)
        return part;
  return nullptr;
}

size_t Checkpoint::placeOf(const StoredTensor &tensor) const {
  bool isListed = std::less_equal<>()(list.begin(), &tensor) && std::less<>()(&tensor, list.end());
  for (const QuantizedTensor *made : quantized)
    if (!isListed && (&tensor == &made->codes || &tensor == &made->scales))
      return size_t(names.find(made->whole.name, made->whole.nameLength));
  return size_t(&tensor - list.begin());
}

/// What the published library calls a tensor while it loads it: norms of checkpoints that came from
/// TensorFlow have a gamma and a beta.
static bool appendCurrentName(Text &name, const char *stored, size_t length) {
  static constexpr struct {
    const char *old, *now;
  } ends[] = {{"LayerNorm.gamma", "weight"}, {"LayerNorm.beta", "bias"}};
  for (auto [old, now] : ends)
    if (length >= strlen(old) && endsWith(stored, old)) {
      name.append("%.*s%s", int(length - strlen(strrchr(old, '.') + 1)), stored, now);
      return !name.failed();
    }
  return false;
}

attn_status Checkpoint::rename(StoredTensor &tensor, const char *folder, Error &error) {
  Text name;
  if (*folder)
    name.append("%s.", folder);
  if (!appendCurrentName(name, tensor.name, tensor.nameLength)) {
    if (!*folder)
      return ATTN_OK;
    name.append("%.*s", int(tensor.nameLength), tensor.name);
  }
  tensor.nameLength = name.size();
  tensor.name = name.failed() ? nullptr : arena.copy(name.c_str(), name.size());
  return tensor.name ? ATTN_OK : error.outOfMemory("names of tensors");
}

attn_status Checkpoint::add(StoredTensor tensor, const char *label, Error &error) {
  if (names.find(tensor.name, tensor.nameLength) >= 0) {
    Text quoted;
    quoted.appendQuoted(tensor.name, tensor.nameLength);
    return error.set(ATTN_BAD_WEIGHTS, "W0202", "tensor `%s` stands twice, the second time in `%s`",
                     quoted.c_str(), label);
  }
  if (!names.insert(tensor.name, tensor.nameLength, int64_t(list.size())) || !list.push(tensor))
    return error.outOfMemory(label);
  return ATTN_OK;
}

attn_status Checkpoint::openMemory(const char *data, size_t size, const char *label, Error &error) {
  Vector<StoredTensor> found;
  bool isGguf = Slice(data, size).startsWith(Slice("GGUF")), isCut;
  GgufParts parts;
  if (attn_status status = isGguf ? readGgufTensors(Slice(data, size), size, label, arena, found,
                                                    isCut, parts, error)
                                  : readSafetensors(data, size, label, arena, found, error))
    return status;
  if (parts.count > 1)
    return failPart(label, parts, error);
  for (StoredTensor &tensor : found) {
    tensor.data = data + tensor.offset;
    if (attn_status status = rename(tensor, "", error))
      return status;
    if (attn_status status = add(tensor, label, error))
      return status;
  }
  return finish(nullptr, error);
}

const char *Checkpoint::bytesOf(const StoredTensor &tensor, Vector<char> &memory, Error &error) {
  ElementReader reader;
  StoredTensor view;
  int64_t elements = 0;
  countElements(tensor.shape, tensor.rank, elements);
  if (!reader.take(tensor, 0, elements, view)) {
    reader.failure.report(tensor.name, error);
    return nullptr;
  }
  reader.giveMemory(memory);
  return view.data;
}

attn_status Checkpoint::finish(const char *folder, Error &error) {
  if (attn_status status = assemble(folder, error))
    return status;
  return separateExperts(error);
}

attn_status Checkpoint::separateExperts(Error &error) {
  bool arePacked = false;
  for (const StoredTensor &tensor : list)
    arePacked |= arePackedExperts(tensor);
  if (!arePacked)
    return ATTN_OK;
  Vector<StoredTensor> all;
  all.swap(list);
  names = NameTable();
  Text name;
  for (const StoredTensor &tensor : all) {
    bool isPacked = arePackedExperts(tensor);
    for (int64_t expert = 0; expert < (isPacked ? tensor.shape[0] : 1); ++expert) {
      StoredTensor part = tensor;
      if (isPacked) {
        expertName(tensor, expert, name);
        if (name.failed() || !takeExpert(tensor, expert, part, quantized))
          return error.outOfMemory("experts");
        part.nameLength = name.size();
        part.name = arena.copy(name.c_str(), name.size());
        if (!part.name)
          return error.outOfMemory("experts");
      }
      if (attn_status status = add(part, tensor.name, error))
        return status;
    }
  }
  return ATTN_OK;
}

attn_status Checkpoint::assemble(const char *folder, Error &error) {
  bool hasQuantized = false;
  for (const StoredTensor &tensor : list)
    hasQuantized |= isQuantized(tensor);
  if (!hasQuantized)
    return ATTN_OK;
  QuantizationConfig config;
  if (folder)
    if (attn_status status = readQuantizationConfig(folder, config, files, error))
      return status;
  QuantizedTensors found{config, quantized, {}, arena};
  if (attn_status status = findQuantized(*this, found, error))
    return status;
  Vector<StoredTensor> all;
  all.swap(list);
  names = NameTable();
  size_t next = 0; // of the quantized, which stand where their codes stood
  for (size_t i = 0; i < all.size(); ++i) {
    bool isCodes = next < quantized.size() && quantized[next]->codes.name == all[i].name;
    if (found.isPart[i] && !isCodes)
      continue;
    const StoredTensor &tensor = isCodes ? quantized[next++]->whole : all[i];
    if (attn_status status = add(tensor, all[i].name, error))
      return status;
  }
  return ATTN_OK;
}

attn_status Checkpoint::addTensors(const attn_named_tensor *tensors, size_t count, Error &error) {
  for (size_t i = 0; i < count; ++i) {
    const attn_tensor &given = tensors[i].tensor;
    int64_t elements = 0;
    if (!tensors[i].name || given.rank < 0 || given.rank > ATTN_MAX_RANK ||
        !attn_dtype_size(given.dtype) || !countElements(given.shape, given.rank, elements) ||
        elements > INT64_MAX / 8 || (!given.data && elements))
      return error.set(ATTN_INVALID_ARGUMENT, "R0101",
                       "tensor %zu has no name, no data, or a dtype or shape that cannot be", i);
    if (isOnDevice(given) || !isDense(given))
      return error.set(ATTN_INVALID_ARGUMENT, "R0101",
                       "tensor `%s`: expected it dense, row-major and in memory of the host",
                       tensors[i].name);
    StoredTensor tensor = {};
    tensor.nameLength = strlen(tensors[i].name);
    tensor.name = arena.copy(tensors[i].name, tensor.nameLength);
    if (!tensor.name)
      return error.outOfMemory("names of tensors");
    tensor.dtype = given.dtype;
    strcpy(tensor.dtypeName, attn_dtype_name(given.dtype));
    tensor.rank = given.rank;
    memcpy(tensor.shape, given.shape, sizeof tensor.shape);
    tensor.data = static_cast<const char *>(given.data);
    tensor.bytes = size_t(elements) * attn_dtype_size(given.dtype);
    if (attn_status status = add(tensor, "memory", error))
      return status;
  }
  return finish(nullptr, error);
}

/// Reads the first bytes of a GGUF file, as many as its lists take, and finds its tensors.
static attn_status readGgufFile(const SourceFile &file, const char *path, Arena &arena,
                                Vector<StoredTensor> &found, GgufParts &parts, Error &error) {
  Vector<char> bytes;
  for (uint64_t wanted = uint64_t(1) << 22;; wanted *= 4) {
    uint64_t size = file.size() < wanted ? file.size() : wanted;
    bool isCut = false;
    if (!bytes.resize(size_t(size)))
      return error.outOfMemory(path);
    if (!file.read(0, bytes.size(), bytes.data()))
      return file.cannotRead(error);
    found.clear();
    attn_status status =
        readGgufTensors(Slice(bytes), file.size(), path, arena, found, isCut, parts, error);
    if (!isCut || size == file.size())
      return status;
    error = Error();
  }
}

static attn_status readSafetensorsFile(const SourceFile &file, const char *path, Arena &arena,
                                       Vector<StoredTensor> &found, Error &error) {
  char start[8];
  size_t first = file.size() < sizeof start ? size_t(file.size()) : sizeof start;
  if (!file.read(0, first, start))
    return file.cannotRead(error);
  Vector<char> header;
  if (!header.resize(size_t(headerBytes(start, file.size()))))
    return error.outOfMemory(path);
  if (!file.read(0, header.size(), header.data()))
    return file.cannotRead(error);
  memcpy(header.data(), start, first); // the length that the header was read by
  return readSafetensors(header.data(), file.size(), path, arena, found, error);
}

attn_status Checkpoint::readTensors(const SourceFile &file, const char *path,
                                    Vector<StoredTensor> &found, GgufParts &parts, Error &error) {
  if (isOnnxName(path))
    return readOnnxTensors(file, path, OnnxTensors::Weights, arena, files, found, error);
  char start[sizeof(Llama2Header)] = {};
  size_t first = file.size() < sizeof start ? size_t(file.size()) : sizeof start;
  if (!file.read(0, first, start))
    return file.cannotRead(error);
  if (Slice(start, first).startsWith(Slice("GGUF")))
    return readGgufFile(file, path, arena, found, parts, error);
  Llama2Header header;
  if (isLlama2(start, file.size(), header))
    return readLlama2Tensors(header, path, arena, found, error);
  return readSafetensorsFile(file, path, arena, found, error);
}

attn_status Checkpoint::openFile(const char *path, Error &error, const char *folder,
                                 const GgufParts *among) {
  SourceFile *file = create<SourceFile>();
  if (!file || !files.push(file)) {
    dispose(file);
    return error.outOfMemory(path);
  }
  Vector<StoredTensor> found;
  if (attn_status status = file->open(path, error))
    return status;
  GgufParts parts;
  if (attn_status status = readTensors(*file, path, found, parts, error))
    return status;
  if (among && (parts.number != among->number || parts.count != among->count))
    return error.set(ATTN_BAD_WEIGHTS, "W0205",
                     "`%s` says that it is part %u of %u of a model, expected part %u of %u", path,
                     parts.number + 1, parts.count, among->number + 1, among->count);
  for (StoredTensor &tensor : found) {
    if (!tensor.file && !tensor.data)
      tensor.file = file;
    if (attn_status status = rename(tensor, folder, error))
      return status;
    if (attn_status status = add(tensor, path, error))
      return status;
  }
  return among || parts.count <= 1 ? ATTN_OK : openParts(path, parts, error);
}

attn_status Checkpoint::openParts(const char *first, const GgufParts &parts, Error &error) {
  for (GgufParts part = parts; ++part.number < parts.count;) {
    Text path;
    if (attn_status status = findPart(first, parts, part, path, error))
      return status;
    if (attn_status status = openFile(path.c_str(), error, "", &part))
      return status;
  }
  return ATTN_OK;
}

attn_status Checkpoint::openIndex(const char *path, Error &error) {
  Vector<char> text, key, name, shard;
  if (attn_status status = readFile(path, maxIndex, text, error))
    return status;
  struct Mapping {
    const char *name, *shard;
    size_t nameLength;
  };
  Vector<Mapping> map;
  NameTable shards, tensorNames;
  Vector<const char *> shardNames;
  JsonReader json(text.data(), text.size());
  bool hasMap = false, hasMemory = true;
  if (json.enterObject())
    while (json.nextKey(key)) {
      if (strcmp(key.data(), "weight_map") != 0) {
        json.skipValue();
        continue;
      }
      if (hasMap)
        json.fail("`weight_map` stands twice");
      hasMap = true;
      if (!json.isGood() || !json.enterObject())
        break;
      while (json.nextKey(name) && json.readString(shard)) {
        // A shard lies beside its index: a hostile index must not open other files.
        if (shard.empty() || strchr(shard.data(), '/') || !endsWith(shard.data(), fileSuffix))
          json.fail("a shard is not the name of a .safetensors file beside the index");
        if (tensorNames.find(name.data(), name.size()) >= 0)
          json.fail("a tensor stands twice in `weight_map`");
        if (!json.isGood())
          break;
        int64_t index = shards.find(shard.data(), shard.size());
        if (index < 0) {
          index = int64_t(shardNames.size());
          const char *copy = arena.copy(shard.data(), shard.size());
          hasMemory &= copy && shards.insert(copy, shard.size(), index) && shardNames.push(copy);
        }
        const char *copy = hasMemory ? arena.copy(name.data(), name.size()) : nullptr;
        hasMemory = hasMemory && copy && tensorNames.insert(copy, name.size(), 0) &&
                    map.push({copy, shardNames[size_t(index)], name.size()});
        if (!hasMemory)
          return error.outOfMemory(path);
      }
    }
  if (json.isGood() && !json.atEnd())
    json.fail("text after the closing `}`");
  if (json.isGood() && !hasMap)
    json.fail("`weight_map` is missing");
  if (!json.isGood()) {
    error.set(ATTN_BAD_WEIGHTS, "W0203", "`%s` is not a valid index of shards: %s", path,
              json.problem);
    error.note("at byte %zu", json.position);
    return error.status;
  }
  const char *slash = strrchr(path, '/');
  int prefix = slash ? int(slash - path + 1) : 0;
  for (const char *shardName : shardNames) {
    Text full;
    full.append("%.*s%s", prefix, path, shardName);
    if (full.failed())
      return error.outOfMemory(path);
    if (attn_status status = openFile(full.c_str(), error))
      return status;
  }
  for (const Mapping &mapping : map) {
    Text current;
    bool isOld = appendCurrentName(current, mapping.name, mapping.nameLength);
    if (!find(isOld ? current.c_str() : mapping.name)) {
      Text quoted;
      quoted.appendQuoted(mapping.name, mapping.nameLength);
      return error.set(ATTN_BAD_WEIGHTS, "W0203",
                       "`%s` says that tensor `%s` is in `%s`, but it is not", path, quoted.c_str(),
                       mapping.shard);
    }
  }
  return ATTN_OK;
}

attn_status Checkpoint::openDirectory(const char *path, Error &error) {
  DIR *directory = opendir(path);
  if (!directory)
    return error.set(ATTN_IO, "R0501", "cannot read `%s`: %s", path, strerror(errno));
  // An index before a single file, the usual name before others.
  Text best, fromTorch;
  int bestRank = 0, sameRank = 0;
  while (dirent *item = readdir(directory)) {
    const char *name = item->d_name;
    if (fromTorch.size() == 0 &&
        (endsWith(name, ".bin") || endsWith(name, ".pt") || endsWith(name, ".pth")))
      fromTorch.append("%s", name);
    int rank = strcmp(name, "model.safetensors.index.json") == 0 ? 4
               : strcmp(name, "model.safetensors") == 0          ? 3
               : endsWith(name, ".safetensors.index.json")       ? 2
               : endsWith(name, fileSuffix)                      ? 1
                                                                 : 0;
    if (rank == 0 || rank < bestRank)
      continue;
    sameRank = rank == bestRank ? sameRank + 1 : 1;
    bestRank = rank;
    best.clear();
    best.append("%s/%s", path, name);
  }
  closedir(directory);
  if (bestRank == 0) {
    if (findGgufIn(path, best))
      return best.failed() ? error.outOfMemory(path) : openFile(best.c_str(), error);
    error.set(ATTN_IO, "R0501", "directory `%s` holds no .safetensors file", path);
    if (fromTorch.size()) {
      error.note("it holds `%s`, a PyTorch file by its name", fromTorch.c_str());
      helpToConvert(error);
      return error.status;
    }
    error.help("pass a .safetensors file, an index of shards or a directory that holds either");
    return error.status;
  }
  if (sameRank > 1) {
    error.set(ATTN_IO, "R0501", "directory `%s` holds %d %s and no index of shards", path, sameRank,
              bestRank == 1 ? "files *.safetensors" : "indices of shards");
    error.help("name the one to use");
    return error.status;
  }
  if (best.failed())
    return error.outOfMemory(path);
  if (attn_status status =
          bestRank % 2 == 0 ? openIndex(best.c_str(), error) : openFile(best.c_str(), error))
    return status;
  return openModules(path, error);
}

attn_status Checkpoint::openModules(const char *path, Error &error) {
  Vector<char> folders;
  if (attn_status status = readModuleFolders(path, folders, error))
    return status;
  for (size_t at = 0; at < folders.size(); at += strlen(folders.data() + at) + 1) {
    const char *folder = folders.data() + at;
    Text file;
    file.append("%s/%s/model.safetensors", path, folder);
    if (file.failed())
      return error.outOfMemory(path);
    if (access(file.c_str(), F_OK) != 0)
      continue;
    if (attn_status status = openFile(file.c_str(), error, folder))
      return status;
  }
  return ATTN_OK;
}

/// Whether a path leads to a folder.
static bool isDirectory(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

attn_status Checkpoint::openPath(const char *path, Error &error) {
  if (isDirectory(path))
    return openDirectory(path, error);
  return endsWith(path, indexSuffix) ? openIndex(path, error) : openFile(path, error);
}

attn_status Checkpoint::open(const char *path, Error &error) {
  if (attn_status status = openPath(path, error))
    return status;
  Text folder;
  const char *slash = strrchr(path, '/');
  if (isDirectory(path))
    folder.append("%s", path);
  else if (slash)
    folder.append("%.*s", int(slash - path + 1), path);
  else
    folder.append(".");
  return folder.failed() ? error.outOfMemory(path) : finish(folder.c_str(), error);
}
