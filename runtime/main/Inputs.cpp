// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs of the command line: files of several kinds, or random numbers.
#include "base/Dtype.h"
#include "io/Checkpoint.h"
#include "io/Npy.h"
#include "main/Command.h"
#include "main/ConvertInput.h"
#include "main/PatchedPicture.h"
#include "main/RandomInputs.h"
#include "main/SoundSamples.h"
#include <cerrno>
#include <cstdio>

using namespace attn;

// In libattn_image, which is linked only where an entry takes a picture.
#pragma weak attn_image_load
// In libattn_sound, which is linked only where an entry takes a sound.
#pragma weak attn_sound_load

/// Files up to this size are read whatever their input takes: what is wrong with them is said then.
static constexpr uint64_t alwaysRead = uint64_t(1) << 30;

/// "random" or "random:SEED".
static bool parseRandom(const char *text, uint64_t &seed) {
  if (strncmp(text, "random", 6) != 0 || (text[6] != 0 && text[6] != ':'))
    return false;
  seed = 0;
  if (text[6] == 0)
    return true;
  char *end;
  errno = 0;
  seed = strtoull(text + 7, &end, 10);
  return errno == 0 && end != text + 7 && *end == 0 && text[7] != '-';
}

namespace {
struct InputReader {
  const Command &command;
  const attn_model &model;
  int32_t entryIndex;
  const attn_abi_entry &entry;
  Tensors &inputs;
  Error &error;
  int64_t dims[maxDims];

  attn_status run();
  attn_status checkNames();
  /// How large a file of an input may be.
  uint64_t mostBytes(int32_t index) const;
  attn_status readTensor(int32_t index, const char *path);
  attn_status readStored(int32_t index, const char *path, attn_tensor &tensor);
  attn_status refuseSeveral(int32_t index, int count) const {
    return error.set(ATTN_INVALID_ARGUMENT, "U0002", "input `%s` is given %d times",
                     entry.inputs[index].name, count);
  }
  attn_status readImages(int32_t index);
  attn_status readSounds(int32_t index);
  attn_status fitRows(int32_t index);
  attn_status convert(const attn_abi_tensor &wanted, const attn_tensor &given, const char *path,
                      attn_tensor &tensor);
  /// Random inputs beside one that was read take its sizes; attn_run will say where they do not
  /// fit.
  void takeSizes(int32_t index);
  /// Whether a picture is given whose patches the entry takes.
  bool isPatched(const Setting &setting, int32_t index) const {
    return isImageFile(setting.value) && takesPatches(*model.tables, entryIndex, index);
  }
  /// Reads pictures in patches and samples of sounds, which give other inputs, too.
  attn_status readWhole();
  bool isWhole(const Setting &setting, int32_t index) const {
    return isPatched(setting, index) ||
           (isSoundFile(setting.value) && takesSamples(*model.tables, entryIndex, index));
  }
  attn_status draw(int32_t index, uint64_t seed);
  /// The rows of tokens that an input `lengths: i32[B]` counts, i32[B, T], which are given; -1
  /// where it is no such input, or there are rows of several lengths.
  int32_t rowsCountedBy(int32_t index) const;
  /// Makes lengths of whole rows.
  attn_status countWhole(int32_t index, int32_t rows);
  attn_status checkName(const Setting &setting);
  bool isGiven(const Setting &setting, int32_t index) const {
    const char *name = entry.inputs[index].name;
    return strlen(name) == size_t(setting.length) &&
           memcmp(name, setting.name, size_t(setting.length)) == 0;
  }
  const Setting *find(int32_t index, int &count) const;
};
} // namespace

const Setting *InputReader::find(int32_t index, int &count) const {
  const Setting *first = nullptr;
  count = 0;
  for (const Setting &setting : command.inputs)
    if (isGiven(setting, index)) {
      first = first ? first : &setting;
      ++count;
    }
  return first;
}

attn_status InputReader::checkName(const Setting &setting) {
  Text names;
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    if (isGiven(setting, i))
      return ATTN_OK;
    names.append(i ? ", `%s`" : "`%s`", entry.inputs[i].name);
  }
  error.set(ATTN_NOT_FOUND, "R0102", "entry `%s` has no input `%.*s`", entry.name, setting.length,
            setting.name);
  error.help("its inputs are %s", names.c_str());
  return error.status;
}

attn_status InputReader::checkNames() {
  const Vector<Setting> *all[] = {&command.inputs, &command.pads};
  for (const Vector<Setting> *settings : all)
    for (const Setting &setting : *settings)
      if (attn_status status = checkName(setting))
        return status;
  return ATTN_OK;
}

/// Copies a tensor into memory of our own. Floats become the float type that the entry takes (NumPy
/// has no bf16), integers the other integer type where they fit; a note says so.
attn_status InputReader::convert(const attn_abi_tensor &wanted, const attn_tensor &given,
                                 const char *path, attn_tensor &tensor) {
  tensor = given;
  bool isConverted = wanted.dtype != given.dtype && isConvertible(given.dtype, wanted.dtype);
  if (isConverted) {
    tensor.dtype = wanted.dtype;
    if (!command.isQuiet)
      fprintf(stderr, "note: input `%s`: `%s` holds %s, which becomes %s\n", wanted.name, path,
              attn_dtype_name(given.dtype), attn_dtype_name(wanted.dtype));
  }
  if (!inputs.allocate(tensor))
    return error.outOfMemory("an input");
  int64_t misfit;
  if (!convertElements(given, tensor, misfit))
    return error.set(ATTN_BAD_INPUT, "R0206",
                     "input `%s` of entry `%s` holds %lld, which is no i32", wanted.name,
                     entry.name, static_cast<long long>(misfit));
  return ATTN_OK;
}

attn_status InputReader::readStored(int32_t index, const char *path, attn_tensor &tensor) {
  const attn_abi_tensor &wanted = entry.inputs[index];
  Checkpoint file;
  if (attn_status status = file.open(path, error))
    return status;
  const StoredTensor *stored = file.find(wanted.name);
  if (!stored)
    return error.set(ATTN_BAD_INPUT, "R0205", "`%s` holds no tensor `%s`", path, wanted.name);
  if (stored->dtype < 0)
    return error.set(ATTN_BAD_INPUT, "R0201", "tensor `%s` of `%s` is %s, expected %s", wanted.name,
                     path, stored->dtypeName, attn_dtype_name(wanted.dtype));
  if (uint64_t(stored->bytes) > mostBytes(index))
    return error.set(ATTN_BAD_INPUT, "R0205",
                     "tensor `%s` of `%s` has %llu bytes, more than the input has room for",
                     wanted.name, path, static_cast<unsigned long long>(stored->bytes));
  Vector<char> memory;
  const char *bytes = Checkpoint::bytesOf(*stored, memory, error);
  if (!bytes)
    return error.status;
  attn_tensor given = {const_cast<char *>(bytes), stored->dtype, stored->rank, {}, nullptr, 0, 0};
  memcpy(given.shape, stored->shape, sizeof given.shape);
  return convert(wanted, given, path, tensor);
}

uint64_t InputReader::mostBytes(int32_t index) const {
  const attn_abi_tensor &wanted = entry.inputs[index];
  uint64_t bytes = 8; // of an element of any type
  for (int32_t a = 0; a < wanted.rank; ++a) {
    const attn_abi_axis &axis = wanted.axes[a];
    int64_t size =
        axis.offset + (axis.dim < 0 ? 0 : axis.scale * model.tables->dims[axis.dim].value);
    if (a == wanted.rank - 1 && !command.pads.empty() && size < 1 << 20)
      size = 1 << 20; // rows are cut to what the entry takes
    if (__builtin_mul_overflow(bytes, uint64_t(size > 0 ? size : 1), &bytes))
      return UINT64_MAX;
  }
  return bytes < alwaysRead ? alwaysRead : bytes + (1 << 20);
}

attn_status InputReader::readTensor(int32_t index, const char *path) {
  const attn_abi_tensor &wanted = entry.inputs[index];
  attn_tensor &tensor = inputs.list[size_t(index)];
  if (hasSuffix(path, ".safetensors"))
    return readStored(index, path, tensor);
  if (strcmp(path, "-") != 0 && !hasSuffix(path, ".npy")) {
    error.set(ATTN_BAD_INPUT, "R0303", "input `%s`: `%s` is of a kind that is not read",
              wanted.name, path);
    bool isFromTorch = hasSuffix(path, ".pt") || hasSuffix(path, ".pth") || hasSuffix(path, ".bin");
    if (isFromTorch)
      error.help("save the tensor for NumPy: numpy.save('x.npy', x.cpu().numpy())");
    else
      error.help("expected .npy, .safetensors, random[:SEED]%s",
                 model.tables->imageCount ? ", or .png and .jpg for a picture" : "");
    return error.status;
  }
  Vector<char> bytes;
  attn_tensor given = {};
  if (readFile(path, mostBytes(index), bytes, error) || readNpy(bytes, path, given, error))
    return error.status;
  return convert(wanted, given, path, tensor);
}

/// Writes a number as an element of type `dtype`, in which it has to be.
static bool storeNumber(double value, int32_t dtype, char *at) {
  if (isFloat(dtype)) {
    storeFloat(float(value), dtype, at, 0);
    return true;
  }
  bool isNarrow = dtype == ATTN_BOOL;
  double most = isNarrow ? 1 : dtype == ATTN_I32 ? 2147483647.0 : 9007199254740992.0;
  if (!(value >= (isNarrow ? 0 : -most) && value <= most) || value != double(int64_t(value)))
    return false;
  int64_t whole = int64_t(value);
  memcpy(at, &whole, attn_dtype_size(dtype)); // low bytes first
  return true;
}

/// --pad ids=0: rows, along the last axis, are cut or filled to the length that the entry takes;
/// where that is known only when running, cut to its bound.
attn_status InputReader::fitRows(int32_t index) {
  const attn_abi_tensor &wanted = entry.inputs[index];
  attn_tensor &tensor = inputs.list[size_t(index)];
  const Setting *pad = nullptr;
  for (const Setting &setting : command.pads)
    pad = isGiven(setting, index) ? &setting : pad;
  if (!pad || tensor.rank != wanted.rank || tensor.dtype != wanted.dtype)
    return ATTN_OK; // what is wrong is said when it runs
  char element[8];
  char *end;
  double value = strtod(pad->value, &end);
  if (*end || !storeNumber(value, wanted.dtype, element))
    return error.set(ATTN_INVALID_ARGUMENT, "U0002",
                     "`--pad %s`: expected a number that is one of %s", pad->name,
                     attn_dtype_name(wanted.dtype));
  const attn_abi_axis &axis = wanted.axes[wanted.rank - 1];
  const attn_abi_dim *dim = axis.dim >= 0 ? &model.tables->dims[axis.dim] : nullptr;
  int64_t given = tensor.shape[tensor.rank - 1], size = axisSize(axis, dims);
  if (dim && dim->isDynamic) {
    int64_t most = axis.scale * dim->value + axis.offset;
    size = given < most ? given : most;
  }
  if (size == given)
    return ATTN_OK;
  attn_tensor fitted = tensor;
  fitted.shape[tensor.rank - 1] = size;
  if (!inputs.allocate(fitted))
    return error.outOfMemory("an input");
  int64_t elements = 0, width = int64_t(attn_dtype_size(tensor.dtype)),
          kept = size < given ? size : given;
  countElements(fitted.shape, fitted.rank, elements);
  char *to = static_cast<char *>(fitted.data);
  for (int64_t row = 0; row * size < elements; ++row) {
    if (kept > 0)
      memcpy(to, static_cast<const char *>(tensor.data) + row * given * width,
             size_t(kept * width));
    for (int64_t i = kept; i < size; ++i)
      memcpy(to + i * width, element, size_t(width));
    to += size * width;
  }
  tensor = fitted;
  return ATTN_OK;
}

/// All pictures given for an input, one after the other along its first axis.
attn_status InputReader::readImages(int32_t index) {
  const attn_abi_tensor &wanted = entry.inputs[index];
  const attn_abi_image *image = imageOf(*model.tables, entryIndex, index);
  if (image && !attn_image_load) {
    error.set(ATTN_BAD_INPUT, "R0303", "this program was linked without decoders of pictures");
    error.help("pass the tensor that one becomes: `--input %s=FILE.npy`", wanted.name);
    return error.status;
  }
  if (!image) {
    error.set(ATTN_BAD_INPUT, "R0303", "input `%s` of entry `%s` takes no picture", wanted.name,
              entry.name);
    error.help("say in the spec how one becomes the tensor: `image input 224 x 224 bicubic ...`");
    return error.status;
  }
  int64_t count = 0;
  for (const Setting &setting : command.inputs)
    count += isGiven(setting, index);
  attn_tensor &tensor = inputs.list[size_t(index)];
  tensor = {nullptr, ATTN_F32, 4, {count, image->channels, image->height, image->width},
            nullptr, 0,        0};
  if (wanted.rank == 3 && count == 1)
    tensor = {nullptr, ATTN_F32, 3, {image->channels, image->height, image->width}, nullptr, 0, 0};
  if (!inputs.allocate(tensor))
    return error.outOfMemory("an input");
  float *at = static_cast<float *>(tensor.data);
  for (const Setting &setting : command.inputs) {
    if (!isGiven(setting, index))
      continue;
    char *message = nullptr;
    attn_status status = attn_image_load(&model, entryIndex, index, setting.value, at, &message);
    if (status != ATTN_OK) {
      error.status = status;
      error.text.clear();
      error.text.append("%s", message ? message : "error[R0401]: no memory");
      attn_message_free(message);
      return status;
    }
    at += int64_t(image->channels) * image->height * image->width;
  }
  return ATTN_OK;
}

/// All sounds given for an input, one after the other.
attn_status InputReader::readSounds(int32_t index) {
  const attn_abi_tensor &wanted = entry.inputs[index];
  const attn_abi_sound *sound = soundOf(*model.tables, entryIndex, index);
  if (!sound)
    return refuseSound(entry, wanted, error);
  if (!attn_sound_load) {
    error.set(ATTN_BAD_INPUT, "R0303", "this program was linked without decoders of sounds");
    error.help("run the spec with `attn run`, or pass the tensor: `--input %s=FILE.npy`",
               wanted.name);
    return error.status;
  }
  int32_t count = 0;
  for (const Setting &setting : command.inputs)
    count += isGiven(setting, index);
  if (wanted.rank == 2 && count > 1)
    return refuseSeveral(index, count);
  attn_tensor &tensor = inputs.list[size_t(index)];
  tensor = {nullptr, ATTN_F32, 3, {count, sound->bands, sound->frames}, nullptr, 0, 0};
  if (wanted.rank == 2)
    tensor = {nullptr, ATTN_F32, 2, {sound->bands, sound->frames}, nullptr, 0, 0};
  if (!inputs.allocate(tensor))
    return error.outOfMemory("an input");
  float *at = static_cast<float *>(tensor.data);
  for (const Setting &setting : command.inputs) {
    if (!isGiven(setting, index))
      continue;
    char *message = nullptr;
    attn_status status = attn_sound_load(&model, entryIndex, index, setting.value, at, &message);
    if (status != ATTN_OK) {
      error.take(status, message);
      attn_message_free(message);
      return status;
    }
    at += int64_t(sound->bands) * sound->frames;
  }
  return ATTN_OK;
}

attn_status InputReader::draw(int32_t index, uint64_t seed) {
  const attn_abi_tensor &wanted = entry.inputs[index];
  attn_tensor &tensor = inputs.list[size_t(index)];
  tensor.dtype = wanted.dtype;
  tensor.rank = wanted.rank;
  for (int32_t a = 0; a < wanted.rank; ++a)
    tensor.shape[a] = axisSize(wanted.axes[a], dims);
  if (!inputs.allocate(tensor))
    return error.outOfMemory("an input");
  drawInput(wanted, dims, seed, tensor);
  return ATTN_OK;
}

int32_t InputReader::rowsCountedBy(int32_t index) const {
  const attn_abi_tensor &lengths = entry.inputs[index];
  if (strcmp(lengths.name, "lengths") != 0 || lengths.dtype != ATTN_I32 || lengths.rank != 1)
    return -1;
  int32_t found = -1, count;
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    const attn_abi_tensor &rows = entry.inputs[i];
    if (rows.dtype != ATTN_I32 || rows.rank != 2)
      continue;
    bool isBatch = rows.axes[0].dim == lengths.axes[0].dim && rows.axes[1].dim >= 0;
    if (!isBatch || !find(i, count) ||
        (found >= 0 && rows.axes[1].dim != entry.inputs[found].axes[1].dim))
      return -1;
    found = i;
  }
  return found;
}

attn_status InputReader::countWhole(int32_t index, int32_t rows) {
  if (attn_status status = draw(index, 0))
    return status;
  attn_tensor &tensor = inputs.list[size_t(index)];
  int32_t length = int32_t(axisSize(entry.inputs[rows].axes[1], dims));
  for (int64_t i = 0; i < tensor.shape[0]; ++i)
    static_cast<int32_t *>(tensor.data)[i] = length;
  fprintf(stderr, "note: `lengths` is not given: all %d tokens of each row count\n", int(length));
  return ATTN_OK;
}

void InputReader::takeSizes(int32_t index) {
  const attn_tensor &tensor = inputs.list[size_t(index)];
  for (int32_t a = 0; a < tensor.rank && a < entry.inputs[index].rank; ++a) {
    const attn_abi_axis &axis = entry.inputs[index].axes[a];
    if (axis.dim < 0 || !model.tables->dims[axis.dim].isDynamic || axis.scale <= 0)
      continue;
    int64_t value = (tensor.shape[a] - axis.offset) / axis.scale;
    if (value >= 1 && value <= model.tables->dims[axis.dim].value)
      dims[axis.dim] = value;
  }
}

attn_status InputReader::readWhole() {
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    int count;
    const Setting *setting = find(i, count);
    if (!setting || !isWhole(*setting, i))
      continue;
    Vector<const char *> paths;
    for (const Setting &each : command.inputs)
      if (isGiven(each, i) && !paths.push(each.value))
        return error.outOfMemory("an input");
    bool isPicture = isPatched(*setting, i);
    if (attn_status status = isPicture && count > 1 ? refuseSeveral(i, count)
                             : isPicture
                                 ? readPatches(model, entryIndex, i, setting->value, inputs, error)
                                 : readSamples(model, entryIndex, i, paths, inputs, error))
      return status;
  }
  return ATTN_OK;
}

attn_status InputReader::run() {
  if (!inputs.list.resize(size_t(entry.inputCount)))
    return error.outOfMemory("the inputs");
  if (checkNames() || chooseSizes(command, *model.tables, dims, error))
    return error.status;
  uint64_t seed;
  int count;
  if (readWhole())
    return error.status;
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    const Setting *setting = find(i, count);
    if (inputs.list[size_t(i)].data && (!setting || isWhole(*setting, i))) {
      takeSizes(i);
      continue;
    }
    bool isLeftOut = !setting && (entry.inputs[i].state != 0 || rowsCountedBy(i) >= 0);
    if (!setting && !isLeftOut && !command.isBench) {
      error.set(ATTN_INVALID_ARGUMENT, "U0003", "input `%s` of entry `%s` is missing",
                entry.inputs[i].name, entry.name);
      error.help("pass `--input %s=FILE`, or `--input %s=random`", entry.inputs[i].name,
                 entry.inputs[i].name);
      return error.status;
    }
    if (!setting || parseRandom(setting->value, seed))
      continue;
    bool isImage = isImageFile(setting->value), isSound = isSoundFile(setting->value);
    if (count > 1 && !isImage && !isSound)
      return refuseSeveral(i, count);
    if (attn_status status = isImage   ? readImages(i)
                             : isSound ? readSounds(i)
                                       : readTensor(i, setting->value))
      return status;
    if (attn_status status = fitRows(i))
      return status;
    takeSizes(i);
  }
  for (int32_t c = 0; c < entry.cacheCount; ++c) {
    const attn_abi_cache_use &use = entry.caches[c];
    int32_t dim = model.tables->caches[use.cache].dim;
    int64_t held = axisSize(use.rows, dims), capacity = model.tables->dims[dim].value;
    held += use.use == ATTN_CACHE_PUSH ? command.cached : 0;
    // attn_run says where there is no room.
    dims[dim] = use.use == ATTN_CACHE_READ || held > capacity ? capacity : held;
  }
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    const Setting *setting = find(i, count);
    seed = 0;
    bool isPlace = !setting && inputs.list[size_t(i)].data; // of patches
    if (isPlace || (!setting && entry.inputs[i].state))     // zeros
      continue;
    if (int32_t rows = rowsCountedBy(i); !setting && rows >= 0 && !command.isBench) {
      if (attn_status status = countWhole(i, rows))
        return status;
      continue;
    }
    if (!setting || parseRandom(setting->value, seed))
      if (attn_status status = draw(i, seed))
        return status;
  }
  return ATTN_OK;
}

attn_status attn::readInputs(const Command &command, const attn_model &model, int32_t entry,
                             Tensors &inputs, Error &error) {
  InputReader reader{command, model, entry, model.tables->entries[entry], inputs, error, {}};
  return reader.run();
}
