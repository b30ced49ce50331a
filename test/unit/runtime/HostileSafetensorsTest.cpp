// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Malformed and hostile .safetensors files: each is an error with a message, never a crash. Every
// file is kept in a buffer of exactly its size, so that an address sanitizer sees a read past its
// end.
#include "TestSupport.h"
#include "tiny_model.h"
#include <cstring>
#include <gtest/gtest.h>
#include <memory>

using namespace attn::test;

namespace {
struct Case {
  const char *name;
  std::string file;
  const char *message;
};

class HostileSafetensorsTest : public testing::Test {
protected:
  Handles handles;
  void SetUp() override {
    ASSERT_EQ(ATTN_OK, attn_model_create(tiny_model(), nullptr, &handles.model, nullptr));
  }
  attn_status bind(const std::string &file) {
    std::unique_ptr<char[]> exact(new char[file.empty() ? 1 : file.size()]);
    memcpy(exact.get(), file.data(), file.size());
    handles.text();
    return attn_model_bind_memory(handles.model, exact.get(), file.size(), &handles.message);
  }
};
} // namespace

static std::string oneTensor(const char *dtype, const char *shape, const char *offsets) {
  return std::string("{\"x\":{\"dtype\":\"") + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}}";
}

static std::string repeated(const char *text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i)
    all += text;
  return all;
}

TEST_F(HostileSafetensorsTest, TruncatedAtEveryByte) {
  std::string file = safetensors(tinyWeights(1));
  ASSERT_EQ(ATTN_OK, bind(file)) << handles.text();
  for (size_t length = 0; length < file.size(); ++length)
    ASSERT_EQ(ATTN_BAD_WEIGHTS, bind(file.substr(0, length))) << length << " bytes";
  EXPECT_EQ(ATTN_BAD_WEIGHTS, bind(file + "x"));
}

TEST_F(HostileSafetensorsTest, EveryHeaderByteChanged) {
  std::string file = safetensors(tinyWeights(1));
  size_t header =
      8 + static_cast<unsigned char>(file[0]) + 256 * static_cast<unsigned char>(file[1]);
  for (size_t i = 0; i < header; ++i)
    for (int flip : {1, 2, 8, 64, 128}) {
      std::string changed = file;
      changed[i] = char(changed[i] ^ flip);
      attn_status status = bind(changed); // some changes are harmless: metadata
      ASSERT_TRUE(status == ATTN_OK || status == ATTN_BAD_WEIGHTS) << i;
      ASSERT_EQ(status != ATTN_OK, handles.message != nullptr);
    }
}

TEST_F(HostileSafetensorsTest, Corpus) {
  std::string huge(8, char(0xff));
  std::string deep = "{\"__metadata__\":" + repeated("[", 100000);
  const Case cases[] = {
      {"empty", "", "0 bytes"},
      {"header_of_2_to_the_64", huge + "{}", "18446744073709551615 bytes"},
      {"header_above_100_mb", std::string("\x01\xe1\xf5\x05\0\0\0\0", 8) + "{}", "100000001 bytes"},
      {"no_header", withHeader("", 0), "expected `{`"},
      {"array_header", withHeader("[]", 0), "expected `{`"},
      {"text_after_header", withHeader("{} x", 0), "text after"},
      {"body_without_tensors", withHeader("{}", 4), "bytes after the last tensor"},
      {"overlap",
       withHeader("{\"x\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"y\":{\"dtype\":"
                  "\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}",
                  6),
       "two tensors overlap"},
      {"same_place_twice",
       withHeader("{\"x\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"y\":{\"dtype\":"
                  "\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
                  4),
       "two tensors overlap"},
      {"hole",
       withHeader("{\"x\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"y\":{\"dtype\":"
                  "\"U8\",\"shape\":[2],\"data_offsets\":[6,8]}}",
                  8),
       "belong to no tensor"},
      {"hole_at_front", withHeader(oneTensor("U8", "[4]", "[1,5]"), 5), "belong to no tensor"},
      {"bytes_at_end", withHeader(oneTensor("U8", "[4]", "[0,4]"), 5), "after the last tensor"},
      {"end_before_begin", withHeader(oneTensor("U8", "[4]", "[4,0]"), 4), "outside the file"},
      {"outside", withHeader(oneTensor("U8", "[8]", "[0,8]"), 4), "outside the file"},
      {"size_2_to_the_63", withHeader(oneTensor("U8", "[9223372036854775808]", "[0,4]"), 4),
       "above 2^63 - 1"},
      {"product_overflows", withHeader(oneTensor("F32", "[4294967296,4294967296]", "[0,4]"), 4),
       "overflows"},
      {"bytes_overflow", withHeader(oneTensor("F64", "[2305843009213693952]", "[0,0]"), 0),
       "overflows"},
      {"overflow_behind_zero", withHeader(oneTensor("U8", "[0,4294967296,4294967296]", "[0,0]"), 0),
       "overflows"},
      {"shape_of_other_size", withHeader(oneTensor("F32", "[2]", "[0,4]"), 4), "another number"},
      {"negative_size", withHeader(oneTensor("U8", "[-1]", "[0,4]"), 4), "integer of at least 0"},
      {"fractional_size", withHeader(oneTensor("U8", "[4.0]", "[0,4]"), 4), "expected an integer"},
      {"exponent", withHeader(oneTensor("U8", "[4e0]", "[0,4]"), 4), "expected an integer"},
      {"leading_zero", withHeader(oneTensor("U8", "[04]", "[0,4]"), 4), "starts with 0"},
      {"nine_axes", withHeader(oneTensor("U8", "[1,1,1,1,1,1,1,1,4]", "[0,4]"), 4), "8 axes"},
      {"unknown_dtype", withHeader(oneTensor("F33", "[1]", "[0,4]"), 4), "dtype"},
      {"three_offsets", withHeader(oneTensor("U8", "[4]", "[0,4,4]"), 4), "[begin, end]"},
      {"one_offset", withHeader(oneTensor("U8", "[4]", "[4]"), 4), "[begin, end]"},
      {"no_dtype", withHeader("{\"x\":{\"shape\":[4],\"data_offsets\":[0,4]}}", 4), "is missing"},
      {"unknown_key", withHeader("{\"x\":{\"dtype\":\"U8\",\"order\":1}}", 4), "no other key"},
      {"dtype_twice", withHeader("{\"x\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 4), "once"},
      {"name_twice",
       withHeader("{\"x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},\"\\u0078\":{"
                  "\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
                  0),
       "a name stands twice"},
      {"metadata_twice", withHeader("{\"__metadata__\":{},\"__metadata__\":{}}", 0), "twice"},
      {"metadata_number", withHeader("{\"__metadata__\":{\"a\":1}}", 0), "expected a string"},
      {"deep_metadata", withHeader(deep, 0), "expected `{`"},
      {"nul_in_name", withHeader("{\"a\\u0000b\":1}", 0), "holds a NUL"},
      {"raw_control_character", withHeader("{\"a\nb\":1}", 0), "control character"},
      {"half_a_surrogate", withHeader("{\"\\ud800\":1}", 0), "surrogate"},
      {"swapped_surrogates", withHeader("{\"\\ude00\\ud800\":1}", 0), "surrogate"},
      {"bad_hex", withHeader("{\"\\u12g4\":1}", 0), "hexadecimal"},
      {"unknown_escape", withHeader("{\"\\x\":1}", 0), "unknown escape"},
      {"overlong_utf8", withHeader("{\"\xc0\xaf\":1}", 0), "not UTF-8"},
      {"utf8_surrogate", withHeader("{\"\xed\xa0\x80\":1}", 0), "not UTF-8"},
      {"cut_utf8", withHeader("{\"\xe2\x82", 0), "not UTF-8"},
      {"trailing_comma", withHeader("{\"__metadata__\":{},}", 0), "expected a string"},
      {"comment", withHeader("{/**/}", 0), "expected"},
      {"tensor_is_null", withHeader("{\"x\":null}", 0), "expected `{`"},
  };
  for (const Case &hostile : cases) {
    EXPECT_EQ(ATTN_BAD_WEIGHTS, bind(hostile.file)) << hostile.name;
    std::string text = handles.text();
    EXPECT_NE(std::string::npos, text.find("error[W0201]")) << hostile.name << ": " << text;
    EXPECT_NE(std::string::npos, text.find(hostile.message)) << hostile.name << ": " << text;
  }
}

TEST_F(HostileSafetensorsTest, DeepIndexIsRefused) {
  std::string path = scratchPath("deep.safetensors.index.json");
  writeText(path, "{\"metadata\":" + repeated("[", 1000000));
  EXPECT_EQ(ATTN_BAD_WEIGHTS, attn_model_bind_file(handles.model, path.c_str(), &handles.message));
  EXPECT_NE(std::string::npos, handles.text().find("nested too deeply"));
}

TEST_F(HostileSafetensorsTest, AllowedOddities) {
  Tensors weights = tinyWeights(1);
  weights["a.attn_mask"] = {"U64", {0, 3}, ""}; // empty, of a type models do not have, ignored
  weights["\\u0062\\ud83d\\ude00.attn_mask"] = {"F8_E4M3", {1}, "x"};
  std::string file = safetensors(weights);
  EXPECT_EQ(ATTN_OK, bind(file)) << handles.text();
  // Spaces after the header, as writers pad it.
  size_t header = static_cast<unsigned char>(file[0]) + 256 * static_cast<unsigned char>(file[1]);
  EXPECT_EQ(ATTN_OK, bind(withHeader(file.substr(8, header) + "   ", 0) + file.substr(8 + header)));
}
