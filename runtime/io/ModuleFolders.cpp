// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// modules.json -> folders: [{"type": "….Dense", "path": "2_Dense"}, …].
#include "io/ModuleFolders.h"
#include "base/Json.h"
#include "io/File.h"
#include <unistd.h>

using namespace attn;

static constexpr size_t maxModules = 1000 * 1000;

/// Reads one module, of which `where` becomes its path.
static void readModule(JsonReader &json, Vector<char> &where) {
  Vector<char> key;
  if (!json.enterObject())
    return;
  while (json.nextKey(key))
    if (strcmp(key.data(), "path") == 0 && json.peek() == '"')
      json.readString(where);
    else
      json.skipValue();
}

attn_status attn::readModuleFolders(const char *path, Vector<char> &folders, Error &error) {
  Text name;
  name.append("%s/modules.json", path);
  if (name.failed())
    return error.outOfMemory(path);
  if (access(name.c_str(), F_OK) != 0)
    return ATTN_OK;
  Vector<char> text;
  if (attn_status status = readFile(name.c_str(), maxModules, text, error))
    return status;
  JsonReader json(text.data(), text.size());
  bool hasMemory = true;
  if (json.enterArray())
    while (json.nextElement()) {
      Vector<char> where;
      readModule(json, where);
      if (!json.isGood())
        break;
      // A module lies in this folder: a hostile file must not open others.
      if (where.empty() || strchr(where.data(), '/') || strcmp(where.data(), "..") == 0)
        continue;
      hasMemory &= folders.append(where.data(), where.size()) && folders.push(0);
    }
  if (!hasMemory)
    return error.outOfMemory(name.c_str());
  if (!json.isGood()) {
    error.set(ATTN_BAD_WEIGHTS, "W0203", "`%s` does not say what modules there are: %s",
              name.c_str(), json.problem);
    error.note("at byte %zu", json.position);
    return error.status;
  }
  return ATTN_OK;
}
