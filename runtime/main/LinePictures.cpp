// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Batches of pictures to labels, objects or vectors.
#include "base/Json.h"
#include "main/LineJob.h"
#include "main/Objects.h"
#include "run/Context.h"
#include <cstdio>

using namespace attn;

// In libattn_image.
#pragma weak attn_image_load

namespace {

/// What an entry makes of a picture.
enum class PictureResult { Vectors, Labels, Objects };

/// What lines of pictures need.
struct PictureLines {
  const PromptRun &run;
  const attn_abi_image &image;
  PictureResult result = PictureResult::Vectors;

  int64_t elements() const { return int64_t(image.channels) * image.height * image.width; }
  attn_status read(Line &line, Error &error) const;
  attn_status make(attn_context &context, Line *const *lines, int64_t count, Error &error) const;
  attn_status keepObjects(Line *const *lines, int64_t count, const Tensors &outputs,
                          Error &error) const;
  /// Shapes and memory of the outputs for an input.
  attn_status prepare(attn_context &context, const attn_tensor &input, Tensors &outputs,
                      Error &error) const;
};

} // namespace

attn_status PictureLines::read(Line &line, Error &error) const {
  LineFields fields;
  line.length = elements();
  return line.read("image", fields, error);
}

attn_status PictureLines::prepare(attn_context &context, const attn_tensor &input, Tensors &outputs,
                                  Error &error) const {
  const attn_abi_entry &entry = run.model->tables->entries[run.entry];
  if (!outputs.list.resize(size_t(entry.outputCount)))
    return error.outOfMemory("outputs");
  char *message = nullptr;
  attn_status status =
      attn_infer_shapes(&context, run.entry, &input, outputs.list.data(), &message);
  if (status)
    error.take(status, message);
  attn_message_free(message);
  for (attn_tensor &tensor : outputs.list)
    if (!status && !outputs.allocate(tensor))
      return error.outOfMemory("outputs");
  return status;
}

/// ", "objects": [{"label": "cat", "score": 0.9, "box": [left, top, right, bottom]}]".
attn_status PictureLines::keepObjects(Line *const *lines, int64_t count, const Tensors &outputs,
                                      Error &error) const {
  Vector<FoundObject> objects;
  if (!findObjects(outputs.list[0], outputs.list[1], objects))
    return error.outOfMemory("objects");
  for (int64_t i = 0; i < count; ++i) {
    Vector<char> json;
    bool isGood = append(json, Slice(", \"objects\": [")), isFirst = true;
    for (const FoundObject &object : objects) {
      if (object.picture != i)
        continue;
      char numbers[200];
      snprintf(numbers, sizeof numbers, ", \"score\": %.9g, \"box\": [%.9g, %.9g, %.9g, %.9g]}",
               object.chance, object.left, object.top, object.right, object.bottom);
      isGood = isGood && append(json, Slice(isFirst ? "{\"label\": " : ", {\"label\": ")) &&
               appendJsonString(Slice(run.labels->name(object.label)), json) &&
               append(json, Slice(numbers));
      isFirst = false;
    }
    if (!isGood || !json.push(']') || !lines[i]->keep(Slice(json)))
      return error.outOfMemory("objects");
  }
  return ATTN_OK;
}

attn_status PictureLines::make(attn_context &context, Line *const *lines, int64_t count,
                               Error &error) const {
  const attn_abi_tensor &wanted = run.model->tables->entries[run.entry].inputs[image.input];
  Tensors inputs, outputs;
  attn_tensor input = {nullptr, ATTN_F32, 4, {count, image.channels, image.height, image.width},
                       nullptr, 0,        0};
  if (wanted.rank == 3)
    input = {nullptr, ATTN_F32, 3, {image.channels, image.height, image.width}, nullptr, 0, 0};
  if (!inputs.allocate(input))
    return error.outOfMemory("pictures");
  char *message = nullptr;
  attn_status status = ATTN_OK;
  for (int64_t i = 0; i < count && !status; ++i) {
    LineFields fields;
    if ((status = lines[i]->read("image", fields, error)))
      return status;
    if (!fields.text.push('\0'))
      return error.outOfMemory("a file name");
    status = attn_image_load(run.model, run.entry, image.input, fields.text.data(),
                             static_cast<float *>(input.data) + i * elements(), &message);
  }
  if (!status && prepare(context, input, outputs, error))
    return error.status;
  if (!status)
    status = attn_run(&context, run.entry, &input, outputs.list.data(), &message);
  if (status)
    error.take(status, message);
  attn_message_free(message);
  if (status)
    return status;
  if (result == PictureResult::Objects)
    return keepObjects(lines, count, outputs, error);
  const attn_tensor &rows = outputs.list[0];
  for (int64_t i = 0; i < count; ++i)
    if (result == PictureResult::Vectors)
      memcpy(lines[i]->vector, static_cast<const float *>(rows.data) + i * rows.shape[1],
             size_t(rows.shape[1]) * sizeof(float));
    else if (keepLabels(*lines[i], rows, i, *run.labels, error))
      return error.status;
  return ATTN_OK;
}

attn_status attn::runPictureLines(const PromptRun &run, Error &error) {
  const attn_abi_model &tables = *run.model->tables;
  const attn_abi_entry &entry = tables.entries[run.entry];
  const attn_abi_image *image = nullptr;
  for (int32_t i = 0; i < tables.imageCount && !image; ++i)
    image = tables.images[i].entry == run.entry ? &tables.images[i] : nullptr;
  if (!attn_image_load) {
    error.set(ATTN_INVALID_ARGUMENT, "U0002",
              "this program was linked without decoders of pictures");
    error.help("`attn run` reads them, of a spec or a shared library");
    return error.status;
  }
  PictureLines pictures{run, *image};
  const attn_abi_tensor &input = entry.inputs[image->input];
  attn_tensor one = {
      nullptr, ATTN_F32, input.rank, {1, image->channels, image->height, image->width},
      nullptr, 0,        0};
  if (input.rank == 3)
    one = {nullptr, ATTN_F32, 3, {image->channels, image->height, image->width}, nullptr, 0, 0};
  Tensors outputs;
  if (pictures.prepare(*run.context, one, outputs, error))
    return error.status;
  const attn_tensor &rows = outputs.list[0];
  bool areRows = rows.rank == 2 && rows.shape[0] == 1 && rows.dtype == ATTN_F32;
  if (areObjects(entry, *run.labels, outputs)) {
    pictures.result = PictureResult::Objects;
  } else if (!areRows) {
    error.set(ATTN_INVALID_ARGUMENT, "U0003", "`--lines`: entry `%s` gives no row for a picture",
              entry.name);
    error.help("such an entry gives f32[B, D], scores of classes or vectors, or `logits` and "
               "`boxes` of a detector whose classes have names");
    return error.status;
  } else if (rows.shape[1] == run.labels->size()) {
    pictures.result = PictureResult::Labels;
  }
  LineWork work;
  work.self = &pictures;
  work.width = pictures.result == PictureResult::Vectors ? rows.shape[1] : 0;
  work.window = 256;
  const attn_abi_axis &axis = input.axes[0];
  work.most = input.rank == 3 ? 1
              : axis.dim >= 0 ? axis.scale * tables.dims[axis.dim].value + axis.offset
                              : axis.offset;
  work.mostLength = int64_t(4) * 3 * 224 * 224; // elements; larger batches are no faster
  work.read = [](void *self, Line &line, Error &problem) {
    return static_cast<PictureLines *>(self)->read(line, problem);
  };
  work.make = [](void *self, attn_context &context, Line *const *lines, int64_t count,
                 Error &problem) {
    return static_cast<PictureLines *>(self)->make(context, lines, count, problem);
  };
  return runLines(run, work, error);
}
