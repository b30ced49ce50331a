// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marks of pictures in a prompt -> as many tokens as the pictures have rows, and the places of all
// tokens. Positions by time, row and column follow Wang et al. 2024, "Qwen2-VL: Enhancing
// Vision-Language Model's Perception of the World at Any Resolution", 2.1.
#include "session/Pictures.h"
#include "base/Tensor.h"
#include <cstdio>

#pragma weak attn_picture_read
#pragma weak attn_picture_free

using namespace attn;

/// An input of an entry by its name, -1 where there is none.
static int32_t inputNamed(const attn_abi_entry &entry, const char *name) {
  for (int32_t i = 0; i < entry.inputCount; ++i)
    if (strcmp(entry.inputs[i].name, name) == 0)
      return i;
  return -1;
}

Pictures::~Pictures() { clear(); }

bool Pictures::areSeenWhole() const { return image && inputNamed(entry, "final") >= 0; }

void Pictures::clear() {
  for (Picture &picture : pictures)
    attn_picture_free(&picture.pixels);
  pictures.clear(), seen.clear();
}

/// Whether rows that one entry gives are those that another takes: any number of them, each with
/// the same sizes, which are known.
static bool areSameRows(const attn_abi_tensor &given, const attn_abi_tensor &taken) {
  bool isSame = given.dtype == ATTN_F32 && taken.dtype == ATTN_F32 && taken.rank >= 1 &&
                given.rank == taken.rank && taken.axes[0].dim >= 0;
  for (int32_t a = 1; a < taken.rank && isSame; ++a)
    isSame = given.axes[a].dim < 0 && taken.axes[a].dim < 0 &&
             given.axes[a].offset == taken.axes[a].offset;
  return isSame;
}

const attn_abi_image *Pictures::find() const {
  int32_t taken = inputNamed(entry, "seen");
  if (taken < 0 || inputNamed(entry, "picked") < 0)
    return nullptr;
  for (int32_t i = 0; i < tables.imageCount; ++i) {
    const attn_abi_image &one = tables.images[i];
    const attn_abi_entry &sees = tables.entries[one.entry];
    for (int32_t o = 0; o < sees.outputCount && one.mark; ++o)
      if (strcmp(sees.outputs[o].name, "seen") == 0 &&
          areSameRows(sees.outputs[o], entry.inputs[taken]))
        return &one;
  }
  return nullptr;
}

int32_t Pictures::seenResult() const {
  const attn_abi_entry &sees = tables.entries[image->entry];
  int32_t result = 0;
  while (strcmp(sees.outputs[result].name, "seen") != 0)
    ++result;
  return result;
}

bool Pictures::gives(const attn_abi_tensor &input) const {
  if (!image)
    return false;
  if (strcmp(input.name, "seen") == 0)
    return true;
  bool isOne = strcmp(input.name, "behind") == 0 || strcmp(input.name, "final") == 0;
  for (const char *name : {"picked", "at", "since", "until", "behind", "final"})
    if (strcmp(input.name, name) == 0)
      return input.dtype == ATTN_I32 && input.rank == (isOne ? 1 : strcmp(name, "at") == 0 ? 3 : 2);
  return false;
}

/// The pictures of an entry that sees, [count, C, height, width], without its first axis where the
/// entry takes one.
static attn_tensor pixelsOf(const attn_abi_image &image, const attn_abi_tensor &input,
                            const attn_picture &picture) {
  attn_tensor tensor = {
      picture.values, ATTN_F32, 4, {picture.count, image.channels, image.height, image.width},
      nullptr,        0,        0};
  if (input.rank == 3)
    tensor = {picture.values, ATTN_F32, 3, {image.channels, image.height, image.width},
              nullptr,        0,        0};
  return tensor;
}

bool Pictures::bindSeeing(const Picture &picture, Vector<attn_tensor> &inputs,
                          PictureGrid &grid) const {
  const attn_abi_entry &sees = tables.entries[image->entry];
  if (!inputs.resize(size_t(sees.inputCount)) || !grid.take(picture.pixels))
    return false;
  for (int32_t i = 0; i < sees.inputCount; ++i)
    if (i == image->input)
      inputs[size_t(i)] = pixelsOf(*image, sees.inputs[i], picture.pixels);
    else
      grid.bind(sees.inputs[i], inputs[size_t(i)]);
  return true;
}

attn_status Pictures::add(const char *path, Error &error) {
  if (!image) {
    error.set(ATTN_INVALID_ARGUMENT, "R0303", "model `%s` takes no pictures in prompts",
              tables.name);
    error.help("an entry that gives `seen`, and `image input ... prompt` in the spec say how");
    return error.status;
  }
  if (!attn_picture_read) {
    error.set(ATTN_BAD_INPUT, "R0303", "this program was linked without decoders of pictures");
    return error.status;
  }
  Picture picture = {};
  char *message = nullptr;
  if (attn_status status = attn_picture_read(context.model, image->entry, image->input, path,
                                             &picture.pixels, &message)) {
    error.take(status, message);
    attn_message_free(message);
    return status;
  }
  Vector<attn_tensor> inputs, results;
  PictureGrid grid;
  bool hasRoom = bindSeeing(picture, inputs, grid) &&
                 results.resize(size_t(tables.entries[image->entry].outputCount));
  if (!hasRoom)
    error.outOfMemory("a picture");
  else if (inferShapes(context, image->entry, inputs.data(), results.data(), error) == ATTN_OK)
    picture.rows = results[size_t(seenResult())].shape[0];
  picture.firstRow = pictures.empty() ? 0 : pictures.back().firstRow + pictures.back().rows;
  if (error.status == ATTN_OK && !pictures.push(picture))
    error.outOfMemory("a picture");
  if (error.status)
    attn_picture_free(&picture.pixels);
  return error.status;
}

/// What stands before, within and behind the braces of a text.
static void splitShown(const char *shown, Slice &front, Slice &row, Slice &rest) {
  const char *open = strchr(shown, '{'), *close = strchr(shown, '}');
  front = Slice(shown, size_t(open - shown));
  row = Slice(open + 1, size_t(close - open - 1));
  rest = Slice(close + 1);
}

/// Appends a text in which a piece within braces stands for each of `rows`, but for `{row}` and
/// `{column}`, which are the numbers of a tile.
static bool appendRows(Slice text, int64_t rows, int64_t line, int64_t column, Vector<char> &to) {
  bool isAdded = true;
  while (isAdded && text.size > 0) {
    size_t open = 0;
    while (open < text.size && text.data[open] != '{')
      ++open;
    size_t close = open;
    while (close < text.size && text.data[close] != '}')
      ++close;
    isAdded = append(to, text.between(0, open));
    if (close == text.size)
      return isAdded;
    Slice piece = text.between(open + 1, close);
    bool isLine = piece == Slice("row"), isColumn = piece == Slice("column");
    if (isLine || isColumn) {
      char number[24];
      snprintf(number, sizeof number, "%lld", static_cast<long long>(isLine ? line : column));
      isAdded = isAdded && append(to, Slice(number));
    }
    for (int64_t r = 0; isAdded && !isLine && !isColumn && r < rows; ++r)
      isAdded = append(to, piece);
    text = text.from(close + 1);
  }
  return isAdded;
}

bool Pictures::appendLines(const Picture &picture, Vector<char> &to) const {
  Slice front, row, rest;
  splitShown(image->shown, front, row, rest);
  int64_t across = picture.pixels.columns / picture.pixels.merged;
  bool isAdded = append(to, front);
  for (int64_t r = 0; isAdded && r < picture.rows; ++r)
    isAdded = (r == 0 || r % across || append(to, Slice(image->line))) && append(to, row);
  return isAdded && append(to, rest);
}

bool Pictures::appendShown(const Picture &picture, Vector<char> &to) const {
  const attn_picture &pixels = picture.pixels;
  if (image->fit == ATTN_FIT_PATCHES && image->line)
    return appendLines(picture, to);
  if (!image->tile || pixels.count == 1)
    return appendRows(Slice(image->shown), picture.rows, 0, 0, to);
  int64_t each = picture.rows / pixels.count;
  bool isAdded = true;
  for (int64_t line = 0; isAdded && line < pixels.rows; ++line) {
    if (line > 0 && image->line)
      isAdded = append(to, Slice(image->line));
    for (int64_t column = 0; isAdded && column < pixels.columns; ++column)
      isAdded = appendRows(Slice(image->tile), each, line + 1, column + 1, to);
  }
  return isAdded && appendRows(Slice(image->whole), each, 0, 0, to);
}

/// Where a text has a mark, from a place on; its size where it has none.
static size_t findMark(Slice text, size_t from, Slice mark) {
  for (size_t at = from; at + mark.size <= text.size; ++at)
    if (text.from(at).startsWith(mark))
      return at;
  return text.size;
}

attn_status Pictures::expand(Slice given, bool isPrompt, Vector<char> &expanded,
                             Error &error) const {
  Slice mark(image->mark);
  Vector<char> marked;
  bool hasRoom = true;
  if (findMark(given, 0, mark) == given.size)
    for (size_t i = 0; i < pictures.size(); ++i)
      hasRoom = hasRoom && append(marked, Slice(image->alone));
  hasRoom = hasRoom && append(marked, given);
  Slice text(marked);
  size_t count = 0, from = 0;
  for (size_t at; hasRoom && (at = findMark(text, from, mark)) < text.size; from = at + mark.size) {
    hasRoom = append(expanded, text.between(from, at));
    if (count < pictures.size())
      hasRoom = hasRoom && appendShown(pictures[count], expanded);
    ++count;
  }
  isPrompt &= !pictures.empty();
  if (isPrompt && image->begin)
    hasRoom = hasRoom && append(expanded, Slice(image->begin));
  hasRoom = hasRoom && append(expanded, text.from(from));
  if (isPrompt && image->end)
    hasRoom = hasRoom && append(expanded, Slice(image->end));
  if (!hasRoom)
    return error.outOfMemory("a prompt");
  if (count == pictures.size())
    return ATTN_OK;
  error.set(ATTN_BAD_INPUT, "R0222", "the prompt has %zu places for pictures, and %zu are given",
            count, pictures.size());
  error.help("give one for each `%s`", image->mark);
  return error.status;
}

PromptPlace Pictures::placeOf(const Picture &picture, int64_t row, int64_t begin,
                              int64_t position) const {
  const attn_picture &pixels = picture.pixels;
  PromptPlace place = {};
  place.row = int32_t(picture.firstRow + row);
  place.first = int32_t(begin), place.last = int32_t(begin + picture.rows - 1);
  // Each row is of a square of patches.
  int64_t across = pixels.columns / pixels.merged;
  place.at[0] = int32_t(position);
  place.at[1] = int32_t(position + row / across), place.at[2] = int32_t(position + row % across);
  return place;
}

attn_status Pictures::place(const attn_tokens &tokens, Error &error) {
  Slice front, rest, row;
  splitShown(image->shown, front, row, rest);
  int32_t token = attn_tokenizer_find(&tokenizer, row.data, row.size);
  if (token < 0 && !pictures.empty()) {
    error.set(ATTN_BAD_INPUT, "R0222",
              "the tokenizer has no token `%.*s`, which stands for a row "
              "of a picture",
              int(row.size), row.data);
    error.help("pass the tokenizer of the model");
    return error.status;
  }
  if (!places.resize(size_t(tokens.count)))
    return error.outOfMemory("a prompt");
  size_t picture = 0;
  int64_t seenRows = 0, position = 0;
  for (int64_t t = 0; t < tokens.count; ++t) {
    int32_t now = int32_t(position), own = int32_t(t);
    PromptPlace &place = places[size_t(t)];
    if (pictures.empty() || tokens.ids[t] != token || picture == pictures.size()) {
      place = {-1, {now, now, now}, own, own};
      ++position;
      continue;
    }
    const Picture &one = pictures[picture];
    if (image->fit == ATTN_FIT_TILES ||
        image->line) { // among text: positions are counted as those of tokens
      place = {int32_t(one.firstRow + seenRows), {now, now, now}, own, own};
      ++position;
      if (++seenRows == one.rows)
        ++picture, seenRows = 0;
      continue;
    }
    place = placeOf(one, seenRows, t - seenRows, position);
    if (++seenRows < one.rows)
      continue;
    int64_t down = one.pixels.rows / one.pixels.merged,
            across = one.pixels.columns / one.pixels.merged;
    position += one.pixels.rows > 1 ? (down > across ? down : across) : one.rows;
    ++picture, seenRows = 0;
  }
  next = position;
  if (picture == pictures.size() && seenRows == 0)
    return ATTN_OK;
  error.set(ATTN_BAD_INPUT, "R0222", "the prompt's tokens have room for %zu of %zu pictures",
            picture, pictures.size());
  error.help("its special tokens are not read as text");
  return error.status;
}

attn_status Pictures::see(Picture &picture, Error &error) {
  Vector<attn_tensor> inputs;
  PictureGrid grid;
  if (!bindSeeing(picture, inputs, grid))
    return error.outOfMemory("a picture");
  Outputs results;
  if (attn_status status = results.prepare(context, image->entry, inputs.data(), error))
    return status;
  if (attn_status status = runEntry(context, image->entry, inputs.data(), results.data(), error))
    return status;
  const attn_tensor &rows = results[seenResult()];
  if (!seen.append(static_cast<const float *>(rows.data), size_t(byteSize(rows)) / sizeof(float)))
    return error.outOfMemory("the rows of pictures");
  picture.isSeen = true;
  free(picture.pixels.values); // of no use any more, unlike the grid
  picture.pixels.values = nullptr;
  return ATTN_OK;
}

attn_status Pictures::see(Error &error) {
  for (Picture &picture : pictures)
    if (!picture.isSeen)
      if (attn_status status = see(picture, error))
        return status;
  return ATTN_OK;
}

bool Pictures::prepare(int64_t held) {
  size_t count = places.size() - size_t(held);
  if (!picked.resize(count) || !at.resize(3 * count) || !since.resize(count) ||
      !until.resize(count))
    return false;
  for (size_t t = 0; t < count; ++t) {
    const PromptPlace &place = places[size_t(held) + t];
    picked[t] = place.row, since[t] = place.first, until[t] = place.last;
    for (size_t axis = 0; axis < 3; ++axis)
      at[axis * count + t] = place.at[axis];
  }
  behind = int32_t(next - int64_t(places.size()));
  final = int32_t(places.size()) - 1;
  return blank.resize(rowSize());
}

size_t Pictures::rowSize() const {
  const attn_abi_tensor &rows = entry.inputs[inputNamed(entry, "seen")];
  size_t size = 1;
  for (int32_t a = 1; a < rows.rank; ++a)
    size *= size_t(rows.axes[a].offset);
  return size;
}

void Pictures::bind(const attn_abi_tensor &input, attn_tensor &tensor) {
  tensor.dtype = input.dtype, tensor.rank = input.rank;
  int64_t count = int64_t(picked.size());
  struct {
    const char *name;
    Vector<int32_t> *numbers;
  } known[] = {{"picked", &picked}, {"at", &at}, {"since", &since}, {"until", &until}};
  for (auto &one : known)
    if (strcmp(input.name, one.name) == 0)
      tensor.data = one.numbers->data();
  bool isFinal = strcmp(input.name, "final") == 0;
  if (isFinal || strcmp(input.name, "behind") == 0) {
    tensor.data = isFinal ? &final : &behind, tensor.shape[0] = 1;
  } else if (strcmp(input.name, "seen") == 0) {
    Vector<float> &rows = seen.empty() ? blank : seen;
    for (int32_t a = 1; a < input.rank; ++a)
      tensor.shape[a] = input.axes[a].offset;
    tensor.data = rows.data(), tensor.shape[0] = int64_t(rows.size() / rowSize());
  } else {
    tensor.shape[input.rank - 2] = 1, tensor.shape[input.rank - 1] = count;
    if (input.rank == 3)
      tensor.shape[0] = 3;
  }
}
