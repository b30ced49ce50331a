// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages of protobuf in a file (https://protobuf.dev/programming-guides/encoding/): fields, each
// a number with its kind and then a varint, four or eight bytes, or a length and as many bytes.
#pragma once

#include "base/Vector.h"
#include "io/File.h"

namespace attn::protobuf {

/// How the bytes of a field are read.
enum Kind : uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// The field that a reader stands at: a number, or bytes of the file.
struct Field {
  uint32_t number;
  Kind kind;
  uint64_t value;      ///< of a varint
  uint64_t begin, end; ///< of bytes, and of fixed numbers
};

/// Bytes of the file around the place that is read.
class Window {
public:
  explicit Window(const SourceFile &file) : file(file) {}
  /// The byte at a place that lies in the file; false where it cannot be read.
  bool byteAt(uint64_t place, uint8_t &byte);
  const SourceFile &file;

private:
  Vector<char> bytes;
  uint64_t first = 0;
};

/// Reads the fields of a message from front to back.
class Message {
public:
  Message(Window &window, uint64_t begin, uint64_t end) : window(window), at(begin), end(end) {}
  /// Makes the next field known; false at the end, and where `isWrong`.
  bool next(Field &field);
  /// Reads a varint inside of the message.
  bool takeVarint(uint64_t &value);
  uint64_t position() const { return at; }
  bool isAtEnd() const { return at >= end; }
  bool isWrong = false;

private:
  /// Notes that the bytes are no message.
  bool fail() {
    isWrong = true;
    return false;
  }
  Window &window;
  uint64_t at, end;
};

} // namespace attn::protobuf
