// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures against Pillow: decoding of all kinds, conversion, resizing; and damaged files.
#include "io/image/Image.h"
#include "TestSupport.h"
#include "tiny_model.h"
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>

using namespace attn::test;

/// The folder with Pillow's pictures, made once; empty where there is no Pillow.
static std::string pictures() {
  static std::string folder = [] {
    std::string path = scratchPath("pictures");
    if (shell("/usr/bin/python3 -c 'import PIL, numpy'").code != 0)
      return std::string();
    Finished made = shell("/usr/bin/python3 " ATTN_TEST_SOURCES "/make_images.py " + path);
    EXPECT_EQ(0, made.code) << made.text;
    return path + "/";
  }();
  return folder;
}

static bool decode(const std::string &file, attn::Image &image, std::string *problem = nullptr) {
  // Exactly as large as the file, so that a sanitizer sees reads past its end.
  std::unique_ptr<unsigned char[]> exact(new unsigned char[file.empty() ? 1 : file.size()]);
  memcpy(exact.get(), file.data(), file.size());
  char text[256] = "";
  bool isPng = file.size() > 1 && file[1] == 'P';
  bool isGood = isPng ? attn::decodePng(exact.get(), file.size(), image, text)
                      : attn::decodeJpeg(exact.get(), file.size(), image, text);
  if (problem)
    *problem = text;
  return isGood;
}

TEST(ImageTest, MatchesPillowWithinOneLevel) {
  if (pictures().empty())
    GTEST_SKIP() << "no Pillow";
  std::ifstream cases(pictures() + "cases.txt");
  std::string file, mode, raw;
  int width, height, filter, count = 0;
  long unequal = 0, total = 0;
  while (cases >> file >> mode >> width >> height >> filter >> raw) {
    attn::Image image, resized;
    std::string problem;
    ASSERT_TRUE(decode(readText(pictures() + file), image, &problem)) << file << ": " << problem;
    ASSERT_TRUE(attn::convertChannels(image, mode == "L" ? 1 : 3));
    ASSERT_TRUE(attn::resizeImage(image, width, height, filter, resized));
    std::string expected = readText(pictures() + raw);
    ASSERT_EQ(expected.size(), size_t(width * height * image.channels)) << file;
    for (size_t i = 0; i < expected.size(); ++i) {
      int difference = static_cast<unsigned char>(expected[i]) - resized.pixels[i];
      ASSERT_LE(std::abs(difference), 1) << file << " " << mode << " " << width << " x " << height
                                         << " filter " << filter << " at " << i;
      unequal += difference != 0;
      ++total;
    }
    ++count;
  }
  EXPECT_GE(count, 200);
  printf("%d pictures, %ld of %ld values differ by one level\n", count, unequal, total);
}

TEST(ImageTest, TruncatedAtEveryByteIsAnError) {
  if (pictures().empty())
    GTEST_SKIP() << "no Pillow";
  for (const char *name : {"rgb.png", "palette.png", "rgb.jpg", "progressive.jpg", "cmyk.jpg"}) {
    std::string file = readText(pictures() + name);
    for (size_t length = 0; length + 2 < file.size(); ++length) {
      attn::Image image;
      std::string problem;
      ASSERT_FALSE(decode(file.substr(0, length), image, &problem)) << name << " " << length;
      ASSERT_NE("", problem);
    }
  }
}

TEST(ImageTest, ChangedBytesNeverCrash) {
  if (pictures().empty())
    GTEST_SKIP() << "no Pillow";
  std::mt19937 random(1);
  for (const char *name : {"rgb.png", "palette.png", "la.png", "rgb.jpg", "progressive.jpg"}) {
    std::string file = readText(pictures() + name);
    for (int i = 0; i < 400; ++i) {
      std::string changed = file;
      for (int j = 0; j < 3; ++j)
        changed[2 + random() % (file.size() - 2)] = char(random());
      attn::Image image;
      decode(changed, image);
    }
  }
}

TEST(ImageTest, SixteenBitAndInterlacedPng) {
  if (pictures().empty())
    GTEST_SKIP() << "no Pillow";
  // Made by hand: the upper byte of 16-bit samples counts, in Adam7 order as in the plain one.
  std::string script = scratchPath("wide.py"), wide = scratchPath("wide.png");
  writeText(script,
            "import struct, sys, zlib\n"
            "def chunk(kind, data):\n"
            "    body = kind + data\n"
            "    return struct.pack('>I', len(data)) + body + struct.pack('>I', zlib.crc32(body))\n"
            "def value(x, y): return (x * 9 + y * 31) % 256 * 256 + 77\n"
            "passes = [(0,0,8,8),(4,0,8,8),(0,4,4,8),(2,0,4,4),(0,2,2,4),(1,0,2,2),(0,1,1,2)]\n"
            "rows = b''\n"
            "for x0, y0, dx, dy in passes:\n"
            "    for y in range(y0, 11, dy):\n"
            "        row = b''.join(struct.pack('>H', value(x, y)) for x in range(x0, 13, dx))\n"
            "        rows += b'\\0' + row if row else b''\n"
            "open(sys.argv[1], 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n'\n"
            "    + chunk(b'IHDR', struct.pack('>IIBBBBB', 13, 11, 16, 0, 0, 0, 1))\n"
            "    + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))\n");
  ASSERT_EQ(0, shell("/usr/bin/python3 " + script + " " + wide).code);
  attn::Image image;
  std::string problem;
  ASSERT_TRUE(decode(readText(wide), image, &problem)) << problem;
  ASSERT_EQ(1, image.channels);
  for (int y = 0; y < 11; ++y)
    for (int x = 0; x < 13; ++x)
      ASSERT_EQ((x * 9 + y * 31) % 256, image.pixels[y * 13 + x]);
}

TEST(ImageTest, HugePicturesAreRefusedBeforeMemoryIsTaken) {
  // A PNG that says it has 60000 x 60000 pixels: only its header is looked at.
  std::string file("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xea\x60\0\0\xea\x60\x08\x02\0\0\0", 29);
  std::string path = scratchPath("huge.png");
  writeText(path, file);
  ASSERT_EQ(0, shell("/usr/bin/python3 -c \"import zlib,sys; b=open(sys.argv[1],'rb').read(); "
                     "open(sys.argv[1],'ab').write(zlib.crc32(b[12:]).to_bytes(4,'big') + "
                     "b'\\0\\0\\0\\0IDAT' + zlib.crc32(b'IDAT').to_bytes(4,'big'))\" " +
                     path)
                   .code);
  attn::Image image;
  std::string problem;
  EXPECT_FALSE(decode(readText(path), image, &problem));
  EXPECT_EQ("more than 100 million pixels", problem);
}

TEST(ImageTest, LoadsIntoTheInputOfAnEntry) {
  if (pictures().empty())
    GTEST_SKIP() << "no Pillow";
  Handles handles;
  ASSERT_EQ(ATTN_OK, attn_model_create(tiny_model(), nullptr, &handles.model, nullptr));
  float values[TINY_D];
  std::string path = pictures() + "grey.png";
  ASSERT_EQ(ATTN_OK, attn_image_load(handles.model, 1, 0, path.c_str(), values, &handles.message));
  attn::Image image, resized;
  ASSERT_TRUE(decode(readText(path), image));
  ASSERT_TRUE(attn::resizeImage(image, 3, 2, ATTN_FILTER_BILINEAR, resized));
  for (int i = 0; i < TINY_D; ++i) // mean 0.5, std 0.25
    EXPECT_FLOAT_EQ((float(resized.pixels[i]) / 255 - 0.5f) / 0.25f, values[i]);
  EXPECT_EQ(ATTN_NOT_FOUND, attn_image_load(handles.model, 0, 0, path.c_str(), values, nullptr));
  std::string text = scratchPath("text.png");
  writeText(text, "no picture");
  EXPECT_EQ(ATTN_BAD_INPUT,
            attn_image_load(handles.model, 1, 0, text.c_str(), values, &handles.message));
  EXPECT_NE(std::string::npos, handles.text().find("neither a PNG nor a JPEG"));
  EXPECT_EQ(ATTN_IO, attn_image_load(handles.model, 1, 0, "/no/such.png", values, nullptr));
  // And through the command line, two of them as a batch.
  Finished run = shell(ATTN_TEST_TINY " --entry see --weights random --input image=" + path +
                       " --input image=" + pictures() + "rgb.jpg");
  EXPECT_EQ(0, run.code) << run.text;
  EXPECT_NE(std::string::npos, run.text.find("f32[2, 5]")) << run.text;
  writeText(text, readText(path).substr(0, 60));
  Finished damaged = shell(ATTN_TEST_TINY " --entry see --weights random --input image=" + text);
  EXPECT_EQ(1, damaged.code) << damaged.text;
  EXPECT_NE(std::string::npos, damaged.text.find("error[R0302]")) << damaged.text;
}
