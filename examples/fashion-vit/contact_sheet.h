// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A contact sheet: pictures of clothes on cards, each with what it was taken for and what it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// One picture of the sheet.
struct Card {
  const uint8_t *pixels; ///< [28, 28], white on black.
  std::string predicted; ///< The predicted label.
  std::string actual;    ///< The true label; the card turns red where it differs.
  float probability = 0; ///< Of the predicted label.
};

/// Writes a PNG of the cards, five in a row, under a title and a line of smaller text. The file
/// appears whole or not at all. Returns an empty string, or what went wrong.
std::string writeContactSheet(const std::string &path, const std::vector<Card> &cards,
                              const std::string &title, const std::string &subtitle);

/// Writes one picture, [28, 28], as a grey PNG, whole or not at all. Returns an empty string, or
/// what went wrong.
std::string writePicture(const std::string &path, const uint8_t *pixels);
