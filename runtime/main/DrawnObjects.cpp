// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a detector has found, drawn into its pictures. Linked only where an entry takes pictures and
// gives `logits` and `boxes`: attn_main refers to it weakly.
#include "io/image/Drawing.h"
#include "main/Objects.h"
#include "run/LoadImage.h"
#include <cmath>

using namespace attn;

/// Colours that differ from each other, light enough for black letters on them.
static constexpr Colour colours[] = {
    {255, 99, 92},  {92, 200, 255},  {255, 190, 70},  {236, 120, 255}, {120, 230, 120},
    {255, 240, 90}, {255, 150, 190}, {110, 255, 220}, {170, 160, 255}, {200, 220, 120}};

namespace {
/// One picture, and where the part of it lies that the model has seen.
struct Drawing {
  const Labels &labels;
  Image image;
  double left = 0, top = 0, width = 0, height = 0; ///< of that part, in pixels
  int thick = 1;
  double scale = 1; ///< pixels for each dot of the font

  /// Reads a picture as `spec` has it shown to the model.
  attn_status read(const char *path, const attn_abi_image &spec, Error &error);
  void draw(const FoundObject &object);
  Pixels pixels() const { return {image.pixels, image.width, image.height}; }

private:
  void drawLabel(const FoundObject &object, int x, int y, int bottom);
};
} // namespace

attn_status Drawing::read(const char *path, const attn_abi_image &spec, Error &error) {
  if (attn_status status = readPicture(path, image, error))
    return status;
  if (!convertChannels(image, 3))
    return error.outOfMemory("a picture");
  PictureFrame frame = frameOf(image, spec);
  double across = double(image.width) / double(frame.width),
         down = double(image.height) / double(frame.height);
  left = double(frame.left) * across;
  top = double(frame.top) * down;
  width = double(spec.width) * across;
  height = double(spec.height) * down;
  int shorter = image.width < image.height ? image.width : image.height;
  thick = shorter < 400 ? 2 : shorter / 200;
  scale = shorter < 450 ? 1.5 : shorter / 300.0;
  return ATTN_OK;
}

/// The pixel at an edge, which may lie a little outside of the picture.
static int pixelOf(double edge, int size) {
  return int(lround(fmin(fmax(edge, 0.0), double(size))));
}

void Drawing::draw(const FoundObject &object) {
  int x = pixelOf(left + object.left * width, image.width),
      y = pixelOf(top + object.top * height, image.height),
      right = pixelOf(left + object.right * width, image.width),
      bottom = pixelOf(top + object.bottom * height, image.height);
  if (right <= x || bottom <= y)
    return;
  drawFrame(pixels(), x, y, right - x, bottom - y, thick,
            colours[size_t(object.label) % (sizeof colours / sizeof *colours)]);
  drawLabel(object, x, y, bottom);
}

/// A label and its probability on a plate: above the box, else below it, else inside.
void Drawing::drawLabel(const FoundObject &object, int x, int y, int bottom) {
  Text text;
  text.append("%s %.0f %%", labels.name(object.label), 100 * object.chance);
  if (text.failed())
    return;
  size_t size = strlen(text.c_str());
  int margin = int(ceil(2 * scale)), high = textHeight(scale) + 2 * margin + int(ceil(2 * scale)),
      wide = textWidth(text.c_str(), size, scale) + 2 * margin;
  int plate = y >= high ? y - high : bottom + high <= image.height ? bottom : y + thick;
  int start = x + wide <= image.width ? x : wide < image.width ? image.width - wide : 0;
  fillRectangle(pixels(), start, plate, wide, high,
                colours[size_t(object.label) % (sizeof colours / sizeof *colours)]);
  drawText(pixels(), start + margin, plate + margin, text.c_str(), size, scale, {0, 0, 0});
}

static attn_status writePicture(const char *path, const Drawing &drawing, Error &error) {
  Vector<char> bytes;
  OutputFile file;
  if (!encodePng(drawing.pixels(), bytes))
    return error.outOfMemory("a picture");
  if (file.open(path, error) || file.write(bytes.data(), bytes.size(), error))
    return error.status;
  return file.commit(error);
}

extern "C" attn_status attn_main_draw(const Command *command, const attn_abi_image *image,
                                      const Labels *labels, const attn_tensor *outputs,
                                      Error *error) {
  Vector<FoundObject> objects;
  if (!findObjects(outputs[0], outputs[1], objects))
    return error->outOfMemory("objects");
  int64_t number = 0;
  for (const Setting &setting : command->inputs) {
    if (!isImageFile(setting.value))
      continue;
    Drawing drawing{*labels, {}};
    if (attn_status status = drawing.read(setting.value, *image, *error))
      return status;
    for (const FoundObject &object : objects)
      if (object.picture == number)
        drawing.draw(object);
    if (attn_status status = writePicture(command->drawings[size_t(number)], drawing, *error))
      return status;
    ++number;
  }
  return ATTN_OK;
}
