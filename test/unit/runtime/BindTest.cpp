// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checkpoints against models: what matches, what is listed where they differ, where files may lie.
#include "TestSupport.h"
#include "base/Dtype.h"
#include "base/Names.h"
#include "tiny_model.h"
#include <cmath>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn::test;

namespace {
class BindTest : public testing::Test {
protected:
  Handles handles;
  Tensors weights = tinyWeights(3);

  void SetUp() override {
    ASSERT_EQ(ATTN_OK, attn_model_create(tiny_model(), nullptr, &handles.model, nullptr));
    ASSERT_EQ(ATTN_OK, attn_context_create(handles.model, 1, &handles.context, nullptr));
  }
  attn_status bind() {
    handles.text();
    std::string file = safetensors(weights);
    return attn_model_bind_memory(handles.model, file.data(), file.size(), &handles.message);
  }
  attn_status bindPath(const std::string &path) {
    handles.text();
    return attn_model_bind_file(handles.model, path.c_str(), &handles.message);
  }
  std::vector<float> run() {
    std::vector<float> x(TINY_D * 2, 0.5f), y(TINY_K * 2);
    attn_tensor input = {x.data(), ATTN_F32, 2, {2, TINY_D}, nullptr, 0, 0};
    attn_tensor output = {y.data(), ATTN_F32, 2, {2, TINY_K}, nullptr, 0, 0};
    EXPECT_EQ(ATTN_OK, attn_run(handles.context, 0, &input, &output, nullptr));
    return y;
  }
  void expectReference(double bound = 1e-4) {
    std::vector<double> expected = tinyReference(weights, std::vector<float>(TINY_D * 2, 0.5f));
    std::vector<float> y = run();
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_NEAR(expected[i], y[i], bound);
  }
};
} // namespace

TEST_F(BindTest, ListsEveryDifferenceWithTheNearestName) {
  weights["layers.1.wieght"] = weights["layers.1.weight"];
  weights.erase("layers.1.weight");
  weights["head.weight"].shape = {TINY_D, TINY_K};
  weights["pos"].dtype = "I32";
  weights["something.else"] = floatTensor({2}, {1, 2});
  weights["layers.0.attn_mask"] = floatTensor({2}, {1, 2}); // named by the spec's `ignore`
  EXPECT_EQ(ATTN_BAD_WEIGHTS, bind());
  EXPECT_EQ(
      "error[W0105]: 1 parameter has no tensor, 2 tensors have no parameter, 1 tensor has "
      "another shape, 1 tensor has another type (3 bound)\n"
      "   missing   layers.1.weight   f32[6, 6]   tiny.attn:3:10\n"
      "   reshaped  head.weight       f32[6, 5], expected f32[5, 6]   tiny.attn:4:10\n"
      "   retyped   pos               i32[1, 6], expected f32[6]   tiny.attn:5:9\n"
      "   unused    layers.1.wieght   f32[6, 6]   did you mean `layers.1.weight`?\n"
      "   unused    something.else    f32[2]\n"
      "   = help: `head.weight` is stored as [in, out]: write `@conv1d` behind its declaration in "
      "the spec\n"
      "   = help: tensors left out on purpose are named in the spec: `ignore \"pattern\"`",
      handles.text());
  EXPECT_FALSE(attn_model_has_weights(handles.model));
}

TEST_F(BindTest, WeightOfAConvolutionOfOnePlace) {
  weights["head.weight"].shape = {TINY_K, TINY_D, 1, 1};
  ASSERT_EQ(ATTN_OK, bind()) << handles.text();
  expectReference();
}

TEST_F(BindTest, AWeightThatIsKeptAsDirectionsAndLengths) {
  // Each row of a matrix, or each column, has its length by itself.
  for (bool areRows : {true, false}) {
    Tensors plain = tinyWeights(3);
    std::vector<float> values = floats(plain["head.weight"]);
    size_t rows = TINY_K, columns = TINY_D, count = areRows ? rows : columns;
    std::vector<float> lengths(count);
    std::vector<double> squares(count);
    for (size_t i = 0; i < values.size(); ++i)
      squares[areRows ? i / columns : i % columns] += double(values[i]) * double(values[i]);
    for (size_t k = 0; k < count; ++k)
      lengths[k] = 0.5f + float(k);
    weights = plain;
    std::string name = areRows ? "head.weight_" : "head.parametrizations.weight.original";
    weights[name + (areRows ? "v" : "1")] = plain["head.weight"];
    weights[name + (areRows ? "g" : "0")] =
        floatTensor({areRows ? int64_t(rows) : 1, areRows ? 1 : int64_t(columns)}, lengths);
    weights.erase("head.weight");
    ASSERT_EQ(ATTN_OK, bind()) << handles.text();
    for (size_t i = 0; i < values.size(); ++i) {
      size_t k = areRows ? i / columns : i % columns;
      values[i] = float(double(values[i]) * double(lengths[k]) / std::sqrt(squares[k]));
    }
    weights["head.weight"] = floatTensor({TINY_K, TINY_D}, values);
    expectReference();
    // Lengths of another shape are none: the two are tensors like others.
    weights = plain;
    weights["head.weight_v"] = plain["head.weight"];
    weights["head.weight_g"] = floatTensor({2, 1}, {1, 2});
    EXPECT_EQ(ATTN_BAD_WEIGHTS, bind());
    EXPECT_NE(std::string::npos, handles.text().find("2 tensors have no parameter"));
  }
}

TEST_F(BindTest, PrefixOfAllNamesIsSaidOnce) {
  Tensors prefixed;
  for (const auto &[name, tensor] : weights)
    prefixed["model." + name] = tensor;
  weights = prefixed;
  EXPECT_EQ(ATTN_BAD_WEIGHTS, bind());
  std::string text = handles.text(), help = "the tensors' names begin with `model.`, which the "
                                            "spec's do not have";
  EXPECT_NE(std::string::npos, text.find(help)) << text;
  EXPECT_EQ(text.find(help), text.rfind(help)) << text;

  weights["something.else"] = floatTensor({2}, {1, 2}); // not all of them have it
  EXPECT_EQ(ATTN_BAD_WEIGHTS, bind());
  text = handles.text();
  EXPECT_EQ(std::string::npos, text.find("names begin with")) << text;
}

TEST_F(BindTest, FailedBindingKeepsTheWeightsBoundBefore) {
  ASSERT_EQ(ATTN_OK, bind());
  std::vector<float> before = run();
  weights.erase("pos");
  EXPECT_EQ(ATTN_BAD_WEIGHTS, bind());
  EXPECT_EQ(before, run());
}

TEST_F(BindTest, ControlCharactersInNamesAreNotPrinted) {
  weights["evil\\u001b[2J"] = floatTensor({1}, {1});
  EXPECT_EQ(ATTN_BAD_WEIGHTS, bind());
  std::string text = handles.text();
  EXPECT_EQ(std::string::npos, text.find('\x1b')) << text;
  EXPECT_NE(std::string::npos, text.find("evil\\x1b[2J")) << text;
}

TEST_F(BindTest, NarrowAndWideFloatsAreConverted) {
  for (std::string dtype : {"F16", "BF16", "F64"}) {
    weights = tinyWeights(5);
    Tensors stored = weights;
    for (auto &[name, tensor] : stored) {
      std::string bytes;
      std::vector<float> values = floats(tensor);
      for (float &value : values) {
        uint16_t half = dtype == "F16" ? attn::floatToHalf(value) : attn::floatToBfloat(value);
        double wide = value;
        if (dtype == "F64")
          bytes.append(reinterpret_cast<char *>(&wide), 8);
        else
          bytes.append(reinterpret_cast<char *>(&half), 2);
        if (dtype != "F64")
          value = dtype == "F16" ? attn::halfToFloat(half) : attn::bfloatToFloat(half);
      }
      tensor = {dtype, tensor.shape, bytes};
      weights[name] = floatTensor(tensor.shape, values);
    }
    std::string file = safetensors(stored);
    ASSERT_EQ(ATTN_OK, attn_model_bind_memory(handles.model, file.data(), file.size(), nullptr));
    expectReference();
  }
}

TEST_F(BindTest, HalfConversionsRoundTripForAllBits) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float half = attn::halfToFloat(uint16_t(bits)), brain = attn::bfloatToFloat(uint16_t(bits));
    if (!std::isnan(half)) {
      EXPECT_EQ(bits, attn::floatToHalf(half));
    } else {
      EXPECT_TRUE(std::isnan(attn::halfToFloat(attn::floatToHalf(half))));
    }
    if (!std::isnan(brain)) {
      EXPECT_EQ(bits, attn::floatToBfloat(brain));
    }
  }
  EXPECT_EQ(attn::floatToHalf(65519.0f), 0x7bff); // the largest that rounds down
  EXPECT_EQ(attn::floatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(attn::floatToHalf(0x1p-25f), 0);         // a tie, to even
  EXPECT_EQ(attn::floatToHalf(0x1.8p-24f), 2);       // a tie, to even
  EXPECT_EQ(attn::floatToBfloat(0x1.01p0f), 0x3f80); // a tie, to even
}

TEST_F(BindTest, TensorsOneByOne) {
  std::vector<attn_named_tensor> list;
  for (auto &[name, tensor] : weights) {
    attn_named_tensor item = {name.c_str(), {tensor.bytes.data(), ATTN_F32, 0, {}, nullptr, 0, 0}};
    for (int64_t size : tensor.shape)
      item.tensor.shape[item.tensor.rank++] = size;
    list.push_back(item);
  }
  ASSERT_EQ(ATTN_OK, attn_model_bind_tensors(handles.model, list.data(), list.size(), nullptr));
  expectReference();
  list.push_back(list[0]);
  EXPECT_EQ(ATTN_BAD_WEIGHTS,
            attn_model_bind_tensors(handles.model, list.data(), list.size(), &handles.message));
  EXPECT_NE(std::string::npos, handles.text().find("stands twice"));
  list.back().tensor.dtype = 99;
  EXPECT_EQ(ATTN_INVALID_ARGUMENT,
            attn_model_bind_tensors(handles.model, list.data(), list.size(), nullptr));
}

TEST_F(BindTest, FilesShardsAndDirectories) {
  std::string folder = scratchPath("checkpoint");
  mkdir(folder.c_str(), 0777);
  Tensors first, second;
  std::string map;
  for (auto &[name, tensor] : weights) {
    bool isFirst = name < "layers.1";
    (isFirst ? first : second)[name] = tensor;
    map += (map.empty() ? "\"" : ",\"") + name + "\":\"" + (isFirst ? "a" : "b") + ".safetensors\"";
  }
  std::string index = folder + "/model.safetensors.index.json";
  writeText(folder + "/a.safetensors", safetensors(first));
  writeText(folder + "/b.safetensors", safetensors(second));
  EXPECT_EQ(ATTN_IO, bindPath(folder)); // two files and no index: which is meant?
  EXPECT_NE(std::string::npos, handles.text().find("2 files *.safetensors"));
  auto writeIndex = [&](const std::string &entries) {
    writeText(index, "{\"metadata\":{\"total_size\":1e3},\"weight_map\":{" + entries + "}}");
  };
  writeIndex(map);
  EXPECT_EQ(ATTN_OK, bindPath(folder)) << handles.text();
  expectReference();
  EXPECT_EQ(ATTN_OK, bindPath(index));
  writeIndex(map + ",\"gone\":\"a.safetensors\"");
  EXPECT_EQ(ATTN_BAD_WEIGHTS, bindPath(index));
  writeIndex(map + ",\"gone\":\"c.safetensors\"");
  EXPECT_EQ(ATTN_IO, bindPath(index));
  writeIndex(map + ",\"gone\":\"../a.safetensors\"");
  EXPECT_EQ(ATTN_BAD_WEIGHTS, bindPath(index));
  handles.text();
  std::string good = "{\"weight_map\":{" + map + "}}";
  for (size_t length = 0; length < good.size(); ++length) {
    writeText(index, good.substr(0, length));
    ASSERT_EQ(ATTN_BAD_WEIGHTS, bindPath(index)) << length;
    handles.text();
  }
  unlink(index.c_str());
  writeText(folder + "/model.safetensors", safetensors(weights));
  EXPECT_EQ(ATTN_OK, bindPath(folder));
  EXPECT_EQ(ATTN_OK, bindPath(folder + "/model.safetensors"));
}

/// The only file of a folder.
static std::string onlyFile(const std::string &folder) {
  std::string found;
  DIR *entries = opendir(folder.c_str());
  while (dirent *entry = entries ? readdir(entries) : nullptr)
    if (entry->d_name[0] != '.') {
      EXPECT_EQ("", found) << "more than one file";
      found = folder + "/" + entry->d_name;
    }
  if (entries)
    closedir(entries);
  return found;
}

/// In microseconds: longer than a step of the times of files.
static constexpr useconds_t tick = 70000;

TEST_F(BindTest, PackedWeightsAreKeptOnDisk) {
  std::string path = scratchPath("kept.safetensors"), folder = scratchPath("packs");
  for (std::string old; !(old = onlyFile(folder)).empty();)
    unlink(old.c_str());
  writeText(path, safetensors(weights));
  setenv("ATTN_CACHE_DIR", folder.c_str(), 1);
  // Another change could have the same time: nothing is kept.
  ASSERT_EQ(ATTN_OK, bindPath(path)) << handles.text();
  EXPECT_EQ("", onlyFile(folder));
  usleep(tick);
  ASSERT_EQ(ATTN_OK, bindPath(path)) << handles.text();
  expectReference();
  std::string pack = onlyFile(folder);
  ASSERT_NE("", pack);

  // The file is read, not written again, which would make another.
  auto inode = [](const std::string &file) {
    struct stat info = {};
    stat(file.c_str(), &info);
    return info.st_ino;
  };
  auto first = inode(pack);
  ASSERT_EQ(ATTN_OK, bindPath(path)) << handles.text();
  expectReference();
  EXPECT_EQ(first, inode(pack));

  // A damaged, a shorter and an empty file are packed again and replaced.
  std::string bytes = readText(pack);
  std::string damaged = bytes;
  damaged[damaged.size() - 30] ^= 1;
  for (const std::string &bad : {damaged, bytes.substr(0, bytes.size() - 1), std::string()}) {
    writeText(pack, bad);
    ASSERT_EQ(ATTN_OK, bindPath(path)) << handles.text();
    expectReference();
    EXPECT_EQ(bytes, readText(pack));
  }

  // Other weights in the same file are another checkpoint, though a program has set its size and
  // time to those of the first.
  struct stat before = {};
  stat(path.c_str(), &before);
  weights = tinyWeights(4);
  writeText(path, safetensors(weights));
  timespec times[2] = {before.st_atim, before.st_mtim};
  utimensat(AT_FDCWD, path.c_str(), times, 0);
  EXPECT_EQ(before.st_ino, inode(path));
  usleep(tick);
  ASSERT_EQ(ATTN_OK, bindPath(path)) << handles.text();
  expectReference();
  unlink(pack.c_str());

  // A folder that cannot be made keeps nothing.
  setenv("ATTN_CACHE_DIR", (path + "/no folder").c_str(), 1);
  EXPECT_EQ(ATTN_OK, bindPath(path)) << handles.text();
  unsetenv("ATTN_CACHE_DIR");
}

TEST_F(BindTest, UnreadableFiles) {
  EXPECT_EQ(ATTN_IO, bindPath(scratchPath("no such file")));
  EXPECT_NE(std::string::npos, handles.text().find("No such file"));
  EXPECT_EQ(ATTN_IO, bindPath("/dev/zero"));
  handles.text();
  std::string empty = scratchPath("empty");
  mkdir(empty.c_str(), 0777);
  EXPECT_EQ(ATTN_IO, bindPath(empty));
  EXPECT_NE(std::string::npos, handles.text().find("holds no .safetensors file"));
}

TEST_F(BindTest, RandomWeightsAreThoseOfRandomTensor) {
  ASSERT_EQ(ATTN_OK, attn_model_bind_random(handles.model, 42, nullptr));
  for (auto &[name, tensor] : weights) {
    std::vector<float> values(tensor.bytes.size() / 4);
    std::vector<int64_t> shape = tensor.shape;
    if (name == "pos")
      shape = {TINY_D}; // as the model declares it
    ASSERT_EQ(ATTN_OK,
              attn_random_tensor(42, name.c_str(), int(shape.size()), shape.data(), values.data()));
    tensor = floatTensor(shape, values);
  }
  expectReference();
  std::vector<float> first = run();
  ASSERT_EQ(ATTN_OK, attn_model_bind_random(handles.model, 43, nullptr));
  EXPECT_NE(first, run());
}

TEST(RandomTest, NumbersHaveTheMomentsAndBitsTheyShould) {
  int64_t shape[2] = {400, 256};
  std::vector<float> values(size_t(shape[0] * shape[1]));
  ASSERT_EQ(ATTN_OK, attn_random_tensor(1, "a.weight", 2, shape, values.data()));
  double sum = 0, square = 0, fourth = 0;
  for (float value : values) {
    double z = value * 16; // fan-in 256
    sum += z;
    square += z * z;
    fourth += z * z * z * z;
  }
  double count = double(values.size()); // 102,400: standard errors 0.003, 0.0044, 0.031
  EXPECT_NEAR(0, sum / count, 0.013);
  EXPECT_NEAR(1, square / count, 0.018);
  EXPECT_NEAR(3, fourth / count, 0.13);
  int64_t length = 1000;
  std::vector<float> gain(1000), bias(1000);
  attn_random_tensor(1, "norm.weight", 1, &length, gain.data());
  attn_random_tensor(1, "norm.bias", 1, &length, bias.data());
  double gainSum = 0, biasSum = 0;
  for (int i = 0; i < 1000; ++i) {
    gainSum += gain[size_t(i)];
    biasSum += bias[size_t(i)];
  }
  EXPECT_NEAR(1, gainSum / 1000, 0.013);
  EXPECT_NEAR(0, biasSum / 1000, 0.013);
  // The first numbers of this stream, from the formula in Python's own log and cos: they may not
  // change between versions.
  uint32_t bits[2];
  memcpy(bits, values.data(), sizeof bits);
  EXPECT_EQ(0x3d1d9de2u, bits[0]);
  EXPECT_EQ(0x3c3741a0u, bits[1]);
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_random_tensor(1, nullptr, 1, &length, gain.data()));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_random_tensor(1, "x", 9, shape, gain.data()));
}

TEST(NamesTest, WildcardsAndDistances) {
  EXPECT_TRUE(attn::matchesWildcard("*.mask", "a.b.mask"));
  EXPECT_TRUE(attn::matchesWildcard("a*c*e", "abcde"));
  EXPECT_TRUE(attn::matchesWildcard("*", ""));
  EXPECT_FALSE(attn::matchesWildcard("a*c", "abcd"));
  EXPECT_FALSE(attn::matchesWildcard("", "a"));
  EXPECT_EQ(3u, attn::editDistance("kitten", 6, "sitting", 7, 10));
  EXPECT_EQ(2u, attn::editDistance("kitten", 6, "sitting", 7, 2));
  EXPECT_EQ(0u, attn::editDistance("", 0, "", 0, 5));
}
