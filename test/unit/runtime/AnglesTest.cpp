// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of angles against cosines and sines in long double.
#include "weights/Angles.h"
#include "TestSupport.h"
#include "base/Team.h"
#include "run/Model.h"
#include "tiny_model.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace attn;
using namespace attn::test;

/// A model of one slot, a table of `positions` rows behind 64 other bytes.
struct Table {
  attn_abi_slot slot = {};
  attn_abi_model model = *tiny_model();
  std::vector<double> frequencies;

  Table(int32_t layout, int64_t positions, std::vector<double> given)
      : frequencies(std::move(given)) {
    slot.offset = 64, slot.layers = 1, slot.layout = layout;
    slot.k = positions, slot.columns = int64_t(frequencies.size());
    slot.bytes = 4 * slot.k * slot.columns;
    slot.frequencies = frequencies.data();
    model.slots = &slot;
    model.slotCount = 1, model.parameterCount = 0;
    model.packedBytes = 64 + (slot.bytes + 63) / 64 * 64;
  }
  Table(const Table &) = delete;
};

TEST(AnglesTest, AreCosinesAndSines) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> logarithm(std::log(1e-6), std::log(3.1));
  Team one, three;
  ASSERT_TRUE(three.start(3));
  for (int64_t positions : {1, 2, 63, 64, 65, 130, 3001, 40003})
    for (int32_t layout : {ATTN_PACK_COSINES, ATTN_PACK_SINES}) {
      std::vector<double> frequencies{1, 0};
      while (frequencies.size() < 2 + random() % 9)
        frequencies.push_back(std::exp(logarithm(random)));
      Table table(layout, positions, frequencies);
      std::vector<float> block(size_t(table.model.packedBytes) / 4 + 1, 7);
      Error error;
      Team &team = positions % 2 ? one : three;
      ASSERT_EQ(ATTN_OK,
                fillAngles(table.model, reinterpret_cast<char *>(block.data()), team, error));
      double worst = 0;
      for (int64_t i = 0; i < positions * table.slot.columns; ++i) {
        int64_t position = i / table.slot.columns;
        long double angle =
            static_cast<long double>(position) * frequencies[size_t(i % table.slot.columns)];
        long double expected = layout == ATTN_PACK_SINES ? sinl(angle) : cosl(angle);
        worst = std::fmax(worst, std::fabs(double(expected - block[16 + size_t(i)])));
      }
      EXPECT_LE(worst, std::ldexp(1, -24)) << positions;
      EXPECT_EQ(7, block[15]);
      EXPECT_EQ(7, block[16 + size_t(positions * table.slot.columns)]);
    }
}

TEST(AnglesTest, ModelsWithoutParametersNeedNoWeights) {
  Table table(ATTN_PACK_COSINES, 70, {0.5});
  Handles handles;
  ASSERT_EQ(ATTN_OK, attn_model_create(&table.model, "", &handles.model, &handles.message));
  EXPECT_TRUE(attn_model_has_weights(handles.model));
}

TEST(AnglesTest, SlotsThatContradictThemselvesAreRefused) {
  attn_abi_part part = {};
  auto refuses = [](Table &table) {
    Handles handles;
    EXPECT_EQ(ATTN_INVALID_ARGUMENT,
              attn_model_create(&table.model, "", &handles.model, &handles.message));
    EXPECT_NE(std::string::npos, handles.text().find("contradicts itself"));
  };
  Table none(ATTN_PACK_SINES, 4, {1}), parts(ATTN_PACK_SINES, 4, {1}),
      room(ATTN_PACK_SINES, 4, {1});
  none.slot.frequencies = nullptr;
  parts.slot.partCount = 1, parts.slot.parts = &part;
  room.slot.bytes = 12;
  for (Table *table : {&none, &parts, &room})
    refuses(*table);
}

/// Blocks that are kept on disk are those of the frequencies, too.
TEST(AnglesTest, OtherFrequenciesMakeAnotherPackedBlock) {
  std::string path = scratchPath("angles.safetensors");
  writeText(path, safetensors(tinyWeights(3)));
  usleep(70000); // nothing is kept of a file that was changed just now
  setenv("ATTN_CACHE_DIR", scratchPath("angles-packs").c_str(), 1);
  attn_abi_model model = *tiny_model();
  std::vector<attn_abi_slot> slots(model.slots, model.slots + model.slotCount);
  double frequency = 0;
  attn_abi_slot angles = {};
  angles.offset = model.packedBytes, angles.layers = 1, angles.layout = ATTN_PACK_COSINES;
  angles.k = 2, angles.columns = 1, angles.bytes = 8, angles.frequencies = &frequency;
  slots.push_back(angles);
  model.slots = slots.data(), ++model.slotCount;
  model.packedBytes += 64;
  for (double wanted : {0.5, 0.25, 0.5}) {
    frequency = wanted;
    Handles handles;
    ASSERT_EQ(ATTN_OK, attn_model_create(&model, nullptr, &handles.model, nullptr));
    ASSERT_EQ(ATTN_OK, attn_model_bind_file(handles.model, path.c_str(), &handles.message));
    float second;
    memcpy(&second, handles.model->weights + angles.offset + 4, sizeof second);
    EXPECT_NEAR(std::cos(wanted), double(second), 1e-7);
  }
  unsetenv("ATTN_CACHE_DIR");
}
