// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds and names pictures of clothes on the 100 canvases of canvases.png with the compiled
// detector, draws what it has found, and measures it against canvases.txt. fashion_detr.h and
// libfashion_detr.a come from `attn compile fashion_detr.attn --emit=static`; the rest is here.
#include "../fashion-vit/drawing.h"
#include "fashion_detr.h"
#include <chrono>
#include <cstdlib>
#include <fstream>

namespace {

// As in the spec, and as canvases.py lays canvases out.
constexpr float mean = 0.286f, deviation = 0.353f;
constexpr int side = 96, across = 10, canvases = across * across;
constexpr int64_t pixels = side * side, classes = 10, queries = 16;
const char *const labels[classes] = {"T-shirt", "Trouser", "Pullover", "Dress", "Coat",
                                     "Sandal",  "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};

enum ExitCode { Ok = 0, BadInput = 1, Usage = 2, Environment = 4 };

const char *const usage = "usage: find [options]\n"
                          "  --weights FILE   the checkpoint (fashion_detr.safetensors)\n"
                          "  --canvases FILE  100 canvases, ten by ten (canvases.png)\n"
                          "  --wanted FILE    what is on them (canvases.txt)\n"
                          "  --sheet FILE     draw what was found on the first 20 as .png\n";

struct Options {
  std::string weights = "fashion_detr.safetensors", canvases = "canvases.png";
  std::string wanted = "canvases.txt", sheet;
};

[[noreturn]] void fail(ExitCode code, const std::string &message) {
  std::fprintf(stderr, "find: error: %s\n", message.c_str());
  std::exit(code);
}

void check(attn_status status, char *const *message) {
  if (status != ATTN_OK)
    fail(status == ATTN_BAD_WEIGHTS || status == ATTN_BAD_INPUT ? BadInput : Environment,
         *message ? *message : attn_status_name(status));
}

Options parseOptions(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--help") {
      std::fputs(usage, stdout);
      std::exit(Ok);
    }
    std::string *text = name == "--weights"    ? &options.weights
                        : name == "--canvases" ? &options.canvases
                        : name == "--wanted"   ? &options.wanted
                        : name == "--sheet"    ? &options.sheet
                                               : nullptr;
    if (!text)
      fail(Usage, "unknown option `" + name + "`\n" + usage);
    if (i + 1 == argc)
      fail(Usage, name + " needs a value");
    *text = argv[i + 1];
  }
  return options;
}

/// A box on a canvas, in parts of it, and what is in it.
struct Box {
  int canvas = 0, label = 0;
  float x = 0, y = 0, width = 0, height = 0; ///< x and y of the centre
  float probability = 1;                     ///< Of the class.
  float presence = 1;                        ///< That there is something.
};

/// The share that two boxes have in common of the area of both.
float overlap(const Box &a, const Box &b) {
  auto common = [](float x, float width, float otherX, float otherWidth) {
    return std::max(0.0f, std::min(x + width / 2, otherX + otherWidth / 2) -
                              std::max(x - width / 2, otherX - otherWidth / 2));
  };
  const float both = common(a.x, a.width, b.x, b.width) * common(a.y, a.height, b.y, b.height);
  return both / (a.width * a.height + b.width * b.height - both);
}

/// The canvases one after the other, u8 [100, 96, 96].
std::vector<uint8_t> readCanvases(const std::string &path) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&image, path.c_str()))
    fail(Environment, "cannot read " + path + ": " + image.message);
  image.format = PNG_FORMAT_GRAY;
  std::vector<uint8_t> sheet(PNG_IMAGE_SIZE(image)), all(size_t(canvases * pixels));
  if (image.width != side * across || image.height != side * across ||
      !png_image_finish_read(&image, nullptr, sheet.data(), 0, nullptr))
    fail(BadInput, path + " is no picture of 960 x 960 pixels");
  for (int y = 0; y < side * across; ++y)
    for (int x = 0; x < side * across; ++x)
      all[size_t((y / side * across + x / side) * pixels + y % side * side + x % side)] =
          sheet[size_t(y * side * across + x)];
  return all;
}

std::vector<Box> readWanted(const std::string &path) {
  std::ifstream file(path);
  std::vector<Box> boxes;
  for (Box box; file >> box.canvas >> box.label >> box.x >> box.y >> box.width >> box.height;) {
    if (box.canvas < 0 || box.canvas >= canvases || box.label < 0 || box.label >= classes)
      fail(BadInput, path + ": there is no such canvas or class");
    boxes.push_back(box);
  }
  if (boxes.empty() || !file.eof())
    fail(file.eof() ? Environment : BadInput, path + " holds no boxes, or could not be read");
  return boxes;
}

/// Runs the detector on all canvases: the likeliest class of each query, but for nothing.
std::vector<Box> findBoxes(const Options &options, const std::vector<uint8_t> &all) {
  attn_model *model = nullptr;
  attn_context *context = nullptr;
  char *message = nullptr;
  check(attn_model_create(fashion_detr_model(), nullptr, &model, &message), &message);
  check(attn_model_bind_file(model, options.weights.c_str(), &message), &message);
  check(attn_context_create(model, 0, &context, &message), &message);
  const int32_t entry = attn_model_find_entry(model, "detect");
  constexpr int64_t batch = 20;
  std::vector<float> image(batch * pixels), shares(batch * queries * (classes + 1)),
      places(batch * queries * 4);
  const attn_tensor input{image.data(), ATTN_F32,        4, {batch, 1, side, side},
                          nullptr,      ATTN_DEVICE_CPU, 0};
  const attn_tensor outputs[] = {
      {shares.data(), ATTN_F32, 3, {batch, queries, classes + 1}, nullptr, ATTN_DEVICE_CPU, 0},
      {places.data(), ATTN_F32, 3, {batch, queries, 4}, nullptr, ATTN_DEVICE_CPU, 0}};
  std::vector<Box> found;
  for (int64_t first = 0; first < canvases; first += batch) {
    for (int64_t i = 0; i < batch * pixels; ++i)
      image[size_t(i)] = (float(all[size_t(first * pixels + i)]) / 255 - mean) / deviation;
    check(attn_run(context, entry, &input, outputs, &message), &message);
    for (int64_t q = 0; q < batch * queries; ++q) {
      const float *share = &shares[size_t(q * (classes + 1))], *place = &places[size_t(q * 4)];
      const float *best = std::max_element(share, share + classes);
      found.push_back({int(first + q / queries), int(best - share), place[0], place[1], place[2],
                       place[3], *best, 1 - share[classes]});
    }
  }
  attn_context_destroy(context);
  attn_model_destroy(model);
  return found;
}

/// The area below precision over recall of one class. A box is right where it overlaps one that is
/// wanted there by half, which nothing likelier has taken. `found` is in order of probability.
double averagePrecision(const std::vector<Box> &found, const std::vector<Box> &wanted, int label) {
  std::vector<bool> taken(wanted.size());
  std::vector<double> precisions;
  std::vector<bool> hits;
  double right = 0, total = 0, area = 0, best = 0;
  for (const Box &box : wanted)
    total += box.label == label;
  for (const Box &box : found) {
    if (box.label != label)
      continue;
    size_t match = wanted.size();
    float most = 0.5f;
    for (size_t n = 0; n < wanted.size(); ++n)
      if (wanted[n].canvas == box.canvas && wanted[n].label == label &&
          overlap(box, wanted[n]) >= most) {
        most = overlap(box, wanted[n]);
        match = n;
      }
    hits.push_back(match < wanted.size() && !taken[match]);
    if (hits.back())
      taken[match] = true;
    right += hits.back();
    precisions.push_back(right / double(hits.size()));
  }
  for (size_t n = hits.size(); n-- > 0;) {
    best = std::max(best, precisions[n]); // of all recalls from here on
    area += hits[n] ? best : 0;
  }
  return total > 0 ? area / total : 0;
}

/// A canvas, three times as large, and a frame with a name around each box.
void drawFound(Canvas &sheet, int left, int top, const uint8_t *canvas,
               const std::vector<Box> &boxes) {
  constexpr int zoom = 3;
  constexpr Colour colours[classes] = {
      {255, 99, 92},  {92, 200, 255},  {255, 190, 70},  {236, 120, 255}, {120, 230, 120},
      {255, 240, 90}, {255, 150, 190}, {110, 255, 220}, {170, 160, 255}, {200, 220, 120}};
  for (int y = 0; y < side * zoom; ++y)
    for (int x = 0; x < side * zoom; ++x) {
      const float level = canvas[y / zoom * side + x / zoom];
      sheet.blend(left + x, top + y, {level, level, level}, 1);
    }
  for (const Box &box : boxes) {
    const Colour colour = colours[box.label];
    const float scale = side * zoom, x = float(left) + (box.x - box.width / 2) * scale;
    const float y = float(top) + (box.y - box.height / 2) * scale;
    const float width = box.width * scale, height = box.height * scale;
    sheet.roundRectangle(x, y, width, 2, 0, colour);
    sheet.roundRectangle(x, y + height - 2, width, 2, 0, colour);
    sheet.roundRectangle(x, y, 2, height, 0, colour);
    sheet.roundRectangle(x + width - 2, y, 2, height, 0, colour);
    const float text = std::clamp(y - 14, float(top), float(top + side * zoom - 14));
    sheet.roundRectangle(x, text, textWidth(labels[box.label], 1.5f) + 6, 15, 0, colour);
    drawText(sheet, x + 3, text + 2, labels[box.label], 1.5f, {0, 0, 0});
  }
}

void writeSheet(const std::string &path, const std::vector<uint8_t> &all,
                const std::vector<Box> &found) {
  constexpr int columns = 5, rows = 4, cell = 3 * side + 12;
  Canvas sheet(columns * cell + 12, rows * cell + 12);
  sheet.roundRectangle(-20, -20, float(sheet.width + 40), float(sheet.height + 40), 0,
                       {238, 240, 244});
  for (int n = 0; n < columns * rows; ++n) {
    std::vector<Box> own;
    for (const Box &box : found)
      if (box.canvas == n && box.presence >= 0.5f)
        own.push_back(box);
    drawFound(sheet, 12 + n % columns * cell, 12 + n / columns * cell, &all[size_t(n * pixels)],
              own);
  }
  if (std::string error = writeCanvas(path, sheet); !error.empty())
    fail(Environment, error);
}

} // namespace

int main(int argc, char **argv) {
  const Options options = parseOptions(argc, argv);
  const std::vector<uint8_t> all = readCanvases(options.canvases);
  const std::vector<Box> wanted = readWanted(options.wanted);
  const auto start = std::chrono::steady_clock::now();
  std::vector<Box> found = findBoxes(options, all);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  std::stable_sort(found.begin(), found.end(),
                   [](const Box &a, const Box &b) { return a.probability > b.probability; });
  double sum = 0;
  for (int label = 0; label < classes; ++label) {
    const double precision = averagePrecision(found, wanted, label);
    std::printf("%-11s %.1f\n", labels[label], 100 * precision);
    sum += precision;
  }
  std::printf("average precision at 0.5: %.1f, of %zu pictures on %d canvases, %.2f s\n",
              100 * sum / classes, wanted.size(), canvases, passed.count());
  if (!options.sheet.empty()) {
    writeSheet(options.sheet, all, found);
    std::printf("boxes       %s\n", options.sheet.c_str());
  }
  return Ok;
}
