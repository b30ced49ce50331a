// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GPT-2's alphabet: a printable character for each byte.
#pragma once

#include "text/steps/AlignedText.h"

namespace attn {

/// The character that stands for a byte: itself where it is printable in Latin-1, else one from
/// U+0100 on.
Char byteLevelChar(unsigned char byte);

/// The byte that a character stands for, or -1.
int byteLevelByte(Char c);

/// Appends the bytes that the characters of `token` stand for, or, where one stands for none, the
/// token as it is; false where memory is lacking.
bool appendByteLevel(Vector<char> &bytes, Slice token);

/// Appends the characters for the bytes from `begin` to before `end` of `from`. Each comes from the
/// whole character that its byte belongs to.
void appendByteLevel(AlignedText &to, const AlignedText &from, size_t begin, size_t end);

} // namespace attn
