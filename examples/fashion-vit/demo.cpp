// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classifies the 10,000 test images of Fashion-MNIST with the compiled model. fashion_vit.h and
// libfashion_vit.a come from `attn compile fashion_vit.attn --emit=static`; the rest is here.
// Another model of the same entry is chosen by `-include fashion_swin.h
// -DMODEL=fashion_swin_model`.
#include "contact_sheet.h"
#ifndef MODEL
#include "fashion_vit.h"
#define MODEL fashion_vit_model
#endif
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>
#include <zlib.h>

namespace {

// As in the `image` line of the spec.
constexpr float mean = 0.286f, deviation = 0.353f;
constexpr int64_t pictureSide = 28, pixels = pictureSide * pictureSide, classes = 10;
const char *const labelNames[classes] = {"T-shirt", "Trouser", "Pullover", "Dress", "Coat",
                                         "Sandal",  "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};

enum ExitCode { Ok = 0, BadInput = 1, Usage = 2, Environment = 4 };

const char *const usage =
    "usage: demo [options]\n"
    "  --weights FILE      the checkpoint (fashion_vit.safetensors)\n"
    "  --data DIR          Fashion-MNIST's .gz files (/usr/share/datasets/fashion-mnist)\n"
    "  --predictions FILE  write the predicted classes as .npy, i32\n"
    "  --sheet FILE        write the first 25 images with their labels as .png\n"
    "  --samples DIR       write the first image of each class as DIR/CLASS.png, CLASS from 0 to "
    "9\n"
    "  --threads N         0: as many as the machine has (0)\n"
    "  --batch N           images per call, 1 to 256 (25)\n";

struct Options {
  std::string weights = "fashion_vit.safetensors", data = "/usr/share/datasets/fashion-mnist";
  std::string predictions, sheet, samples;
  int threads = 0, batch = 25;
};

[[noreturn]] void fail(ExitCode code, const std::string &message) {
  std::fprintf(stderr, "demo: error: %s\n", message.c_str());
  std::exit(code);
}

/// Ends the program with the message of a failed call. By pointer, since the call that sets the
/// message and this argument are evaluated in either order.
void check(attn_status status, char *const *message) {
  if (status == ATTN_OK)
    return;
  ExitCode code = status == ATTN_BAD_WEIGHTS || status == ATTN_BAD_INPUT ? BadInput : Environment;
  fail(code, *message ? *message : attn_status_name(status));
}

int parseNumber(const char *option, const char *text, int least, int most) {
  char *end = nullptr;
  long number = std::strtol(text, &end, 10);
  if (!*text || *end || number < least || number > most)
    fail(Usage, std::string(option) + " takes a number from " + std::to_string(least) + " to " +
                    std::to_string(most) + ", not `" + text + "`");
  return int(number);
}

Options parseOptions(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--help") {
      std::fputs(usage, stdout);
      std::exit(Ok);
    }
    const char *value = i + 1 < argc ? argv[++i] : nullptr;
    std::string *text = name == "--weights"       ? &options.weights
                        : name == "--data"        ? &options.data
                        : name == "--predictions" ? &options.predictions
                        : name == "--sheet"       ? &options.sheet
                        : name == "--samples"     ? &options.samples
                                                  : nullptr;
    int *number = name == "--threads" ? &options.threads
                  : name == "--batch" ? &options.batch
                                      : nullptr;
    if (!text && !number)
      fail(Usage, "unknown option `" + name + "`\n" + usage);
    if (!value)
      fail(Usage, name + " needs a value");
    if (text)
      *text = value;
    else
      *number = parseNumber(argv[i - 1], value, number == &options.batch,
                            number == &options.batch ? 256 : 1024);
  }
  return options;
}

/// The bytes of an IDX file with `rank` axes: two zero bytes, the type (8: u8), the rank, sizes in
/// big-endian order, data. `count` becomes the first size.
std::vector<uint8_t> readIdx(const std::string &path, int rank, int64_t perItem, int64_t &count) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file)
    fail(Environment, "cannot read " + path + ": " + std::strerror(errno));
  uint8_t header[4 + 4 * 3];
  const int headerSize = 4 + 4 * rank;
  bool valid = gzread(file, header, unsigned(headerSize)) == headerSize && header[0] == 0 &&
               header[1] == 0 && header[2] == 8 && header[3] == rank;
  auto size = [&](int axis) {
    const uint8_t *p = header + 4 + 4 * axis;
    return int64_t(p[0]) << 24 | p[1] << 16 | p[2] << 8 | p[3];
  };
  int64_t itemSize = 1;
  for (int axis = 1; valid && axis < rank; ++axis)
    itemSize *= size(axis);
  std::vector<uint8_t> data;
  if (valid && itemSize == perItem && size(0) > 0 && size(0) <= 1000000) {
    count = size(0);
    data.resize(size_t(count * perItem));
    valid = gzread(file, data.data(), unsigned(data.size())) == int(data.size());
  } else {
    valid = false;
  }
  gzclose(file);
  if (!valid)
    fail(BadInput,
         path + " is no IDX file of " + std::to_string(perItem) + " bytes per item, or is damaged");
  return data;
}

/// Writes i32 [count] as .npy: magic, version, header padded to a multiple of 64, data. The file
/// appears whole or not at all.
void writeNpy(const std::string &path, const std::vector<int32_t> &values) {
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (" +
                       std::to_string(values.size()) + ",), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  const uint8_t prefix[10] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, uint8_t(header.size()), uint8_t(header.size() >> 8)};
  const std::string part = path + ".part";
  FILE *file = std::fopen(part.c_str(), "wb");
  bool written = file && std::fwrite(prefix, 1, 10, file) == 10 &&
                 std::fwrite(header.data(), 1, header.size(), file) == header.size() &&
                 std::fwrite(values.data(), 4, values.size(), file) == values.size();
  if (file && std::fclose(file) != 0)
    written = false;
  if (written && std::rename(part.c_str(), path.c_str()) == 0)
    return;
  std::string reason = std::strerror(errno);
  std::remove(part.c_str());
  fail(Environment, "cannot write " + path + ": " + reason);
}

/// A bar on stderr, drawn only where a person sees it.
class Progress {
public:
  explicit Progress(int64_t total) : total(total), visible(isatty(STDERR_FILENO)) {}
  ~Progress() {
    if (visible)
      std::fputs("\r\033[K", stderr);
  }

  void show(int64_t done, int64_t right, double seconds) {
    int64_t percent = 100 * done / total;
    if (!visible || percent == shown)
      return;
    shown = percent;
    std::string bar;
    for (int cell = 0; cell < 32; ++cell)
      bar += cell * total < 32 * done ? "█" : "░";
    std::fprintf(stderr, "\r%s %3d%%  accuracy %.2f%%  %.0f images/s ", bar.c_str(), int(percent),
                 100.0 * double(right) / double(done), double(done) / seconds);
  }

private:
  int64_t total, shown = -1;
  bool visible;
};

/// The model, ready to run.
struct Classifier {
  attn_model *model = nullptr;
  attn_context *context = nullptr;
  int32_t entry = 0;
  int64_t side = 0; ///< Of the pictures that the model takes.

  explicit Classifier(const Options &options) {
    char *message = nullptr;
    check(attn_model_create(MODEL(), nullptr, &model, &message), &message);
    check(attn_model_bind_file(model, options.weights.c_str(), &message), &message);
    check(attn_context_create(model, options.threads, &context, &message), &message);
    entry = attn_model_find_entry(model, "classify");
    attn_tensor_info image;
    check(attn_model_input(model, entry, 0, &image), &message);
    side = image.shape[2];
    if (side != pictureSide && side != 2 * pictureSide)
      fail(BadInput,
           "the model takes pictures of " + std::to_string(side) + " pixels, expected 28 or 56");
  }
  ~Classifier() {
    attn_context_destroy(context);
    attn_model_destroy(model);
  }

  /// images: f32 [count, 1, side, side] -> logits: f32 [count, 10]
  void run(float *images, float *logits, int64_t count) {
    attn_tensor input{images, ATTN_F32, 4, {count, 1, side, side}, nullptr, ATTN_DEVICE_CPU, 0};
    attn_tensor output{logits, ATTN_F32, 2, {count, classes}, nullptr, ATTN_DEVICE_CPU, 0};
    char *message = nullptr;
    check(attn_run(context, entry, &input, &output, &message), &message);
  }
};

struct Result {
  std::vector<int32_t> predicted;
  std::vector<float> probability; ///< Of the predicted class.
  int64_t right = 0;
  double seconds = 0;
};

/// A picture, f32 [28, 28], twice as large, between its pixels in straight lines.
void enlarge(const float *picture, float *large) {
  constexpr int64_t side = pictureSide, wide = 2 * side;
  auto neighbour = [](int64_t at) { // the pixel that is further away, of those around a new one
    return std::clamp<int64_t>(at % 2 ? at / 2 + 1 : at / 2 - 1, 0, side - 1);
  };
  for (int64_t y = 0; y < wide; ++y)
    for (int64_t x = 0; x < wide; ++x) {
      const float *near = picture + y / 2 * side, *far = picture + neighbour(y) * side;
      const int64_t left = x / 2, right = neighbour(x);
      large[y * wide + x] = 0.75f * (0.75f * near[left] + 0.25f * near[right]) +
                            0.25f * (0.75f * far[left] + 0.25f * far[right]);
    }
}

Result classifyAll(Classifier &classifier, const std::vector<uint8_t> &images,
                   const std::vector<uint8_t> &labels, int64_t batch) {
  const int64_t count = int64_t(labels.size());
  float table[256];
  for (int level = 0; level < 256; ++level)
    table[level] = (float(level) / 255 - mean) / deviation;
  const int64_t size = classifier.side * classifier.side;
  std::vector<float> picture(static_cast<size_t>(pixels));
  std::vector<float> input(size_t(batch * size)), logits(size_t(batch * classes));

  Result result;
  Progress progress(count);
  const auto start = std::chrono::steady_clock::now();
  for (int64_t first = 0; first < count; first += batch) {
    const int64_t now = std::min(batch, count - first);
    for (int64_t n = 0; n < now; ++n) {
      for (int64_t i = 0; i < pixels; ++i)
        picture[size_t(i)] = table[images[size_t((first + n) * pixels + i)]];
      float *place = &input[size_t(n * size)];
      if (size == pixels)
        std::copy(picture.begin(), picture.end(), place);
      else
        enlarge(picture.data(), place);
    }
    classifier.run(input.data(), logits.data(), now);
    for (int64_t n = 0; n < now; ++n) {
      const float *row = &logits[size_t(n * classes)];
      const float *best = std::max_element(row, row + classes);
      float sum = 0; // softmax: exp(best) / sum = 1 / sum of exp(other - best)
      for (int64_t k = 0; k < classes; ++k)
        sum += std::exp(row[k] - *best);
      result.predicted.push_back(int32_t(best - row));
      result.probability.push_back(1 / sum);
      result.right += best - row == labels[size_t(first + n)];
    }
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    progress.show(first + now, result.right, result.seconds);
  }
  return result;
}

/// Writes the first image of each class.
void writeSamples(const std::string &folder, const std::vector<uint8_t> &images,
                  const std::vector<uint8_t> &labels) {
  for (int64_t k = 0; k < classes; ++k) {
    const auto first = std::find(labels.begin(), labels.end(), k);
    if (first == labels.end())
      continue;
    std::string error = writePicture(folder + "/" + std::to_string(k) + ".png",
                                     &images[size_t(first - labels.begin()) * pixels]);
    if (!error.empty())
      fail(Environment, error);
  }
}

/// 10000 -> "10,000"
std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (int place = int(text.size()) - 3; place > 0; place -= 3)
    text.insert(size_t(place), ",");
  return text;
}

} // namespace

int main(int argc, char **argv) {
  const Options options = parseOptions(argc, argv);
  int64_t count = 0, labelCount = 0;
  const auto images = readIdx(options.data + "/t10k-images-idx3-ubyte.gz", 3, pixels, count);
  const auto labels = readIdx(options.data + "/t10k-labels-idx1-ubyte.gz", 1, 1, labelCount);
  if (count != labelCount || *std::max_element(labels.begin(), labels.end()) >= classes)
    fail(BadInput, options.data + ": the labels do not belong to the images");

  Classifier classifier(options);
  const Result result = classifyAll(classifier, images, labels, options.batch);

  char percent[16];
  std::snprintf(percent, sizeof percent, "%.2f%%", 100.0 * double(result.right) / double(count));
  const std::string score = grouped(result.right) + " of " + grouped(count);
  if (!options.predictions.empty())
    writeNpy(options.predictions, result.predicted);
  if (!options.sheet.empty()) {
    std::vector<Card> cards;
    for (size_t n = 0; n < std::min<size_t>(25, labels.size()); ++n)
      cards.push_back({&images[n * pixels], labelNames[result.predicted[n]], labelNames[labels[n]],
                       result.probability[n]});
    std::string error =
        writeContactSheet(options.sheet, cards, "Fashion-MNIST",
                          score + " test images right, " + percent + ", the first 25 here");
    if (!error.empty())
      fail(Environment, error);
  }

  if (!options.samples.empty())
    writeSamples(options.samples, images, labels);

  std::printf("accuracy    %s (%s)\n", percent, score.c_str());
  std::printf("speed       %s images/s on %d thread%s, %s, %.2f s in all\n",
              grouped(std::llround(double(count) / result.seconds)).c_str(),
              attn_context_threads(classifier.context),
              attn_context_threads(classifier.context) == 1 ? "" : "s",
              attn_model_level(classifier.model), result.seconds);
  if (!options.predictions.empty())
    std::printf("classes     %s\n", options.predictions.c_str());
  if (!options.sheet.empty())
    std::printf("pictures    %s\n", options.sheet.c_str());
  return Ok;
}
