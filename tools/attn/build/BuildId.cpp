// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The notes of this program in memory to its build id. Apart from LLVM's headers of ELF, whose
// names are macros of the system's.
#include "BuildId.h"

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
  auto visit = [](dl_phdr_info *program, size_t, void *found) {
    for (const ElfW(Phdr) &segment : ArrayRef(program->dlpi_phdr, program->dlpi_phnum)) {
      auto address = program->dlpi_addr + segment.p_vaddr;
      auto *notes = reinterpret_cast<const uint8_t *>(address); // NOLINT(performance-no-int-to-ptr)
      auto &id = *static_cast<ArrayRef<uint8_t> *>(found);
      if (segment.p_type == PT_NOTE && id.empty())
        id = findId(ArrayRef(notes, segment.p_memsz));
    }
    return 1; // the first one is the program, others its libraries
  };
  dl_iterate_phdr(visit, &id);
  return id;
}

} // namespace attn::tool
