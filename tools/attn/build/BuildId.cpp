// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The notes of this program, or library, in memory to its build id. Apart from LLVM's headers of
// ELF, whose names are macros of the system's.
#include "BuildId.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <link.h>

using namespace llvm;

namespace attn::tool {

/// The id among the notes of a segment.
static ArrayRef<uint8_t> findId(ArrayRef<uint8_t> notes) {
  ElfW(Nhdr) head;
  while (notes.size() >= sizeof head) {
    memcpy(&head, notes.data(), sizeof head);
    size_t id = sizeof head + alignTo<4>(head.n_namesz), end = id + alignTo<4>(head.n_descsz);
    if (end > notes.size())
      break;
    StringRef name = toStringRef(notes.slice(sizeof head, head.n_namesz));
    if (head.n_type == NT_GNU_BUILD_ID && name == StringRef(ELF_NOTE_GNU, sizeof ELF_NOTE_GNU))
      return notes.slice(id, head.n_descsz);
    notes = notes.drop_front(end);
  }
  return {};
}

ArrayRef<uint8_t> buildId() {
  ArrayRef<uint8_t> id;
  auto visit = [](dl_phdr_info *file, size_t, void *found) {
    static const char here = 0;
    auto own = reinterpret_cast<uintptr_t>(&here) - file->dlpi_addr; // NOLINT
    ArrayRef segments(file->dlpi_phdr, file->dlpi_phnum);
    bool isOwn = any_of(segments, [&](const ElfW(Phdr) & segment) {
      return segment.p_type == PT_LOAD && own - segment.p_vaddr < segment.p_memsz;
    });
    auto &id = *static_cast<ArrayRef<uint8_t> *>(found);
    for (const ElfW(Phdr) &segment : segments) {
      auto address = file->dlpi_addr + segment.p_vaddr;
      auto *notes = reinterpret_cast<const uint8_t *>(address); // NOLINT(performance-no-int-to-ptr)
      if (isOwn && segment.p_type == PT_NOTE && id.empty())
        id = findId(ArrayRef(notes, segment.p_memsz));
    }
    return int(isOwn); // 1: looks no further
  };
  dl_iterate_phdr(visit, &id);
  return id;
}

} // namespace attn::tool
