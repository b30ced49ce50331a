// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn cache`: what is kept between runs, and its removal.
#include "Verbs.h"
#include "compiler/support/Printable.h"
#include "tools/attn/build/CompileCache.h"
#include "tools/attn/support/Files.h"
#include "tools/attn/support/Report.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

using namespace llvm;

namespace attn::tool {

static std::string boundText(StringRef what, uint64_t bound) {
  if (what != "compiled specs")
    return "";
  return bound ? " of at most " + sizeText(bound) : ", none are kept (ATTN_CACHE_SIZE=0)";
}

int runCache(const opt::InputArgList &args) {
  std::vector<std::string> files = allFiles(args);
  if (!files.empty())
    return fail(Usage, "`attn cache " + files.front() + "`: expected no file",
                files.front() == "clear" ? "`attn cache --clear` removes what is kept"
                                         : "ATTN_CACHE_DIR names the folder");
  auto bound = cacheBound();
  if (!bound)
    return Usage;
  std::string folder = cacheFolder();
  if (folder.empty())
    return fail(Environment, "there is no folder for caches: HOME is not set",
                "name one by ATTN_CACHE_DIR");
  if (args.hasArg(OPT_clear))
    if (llvm::Error error = clearCache(folder))
      return fail(Environment, toString(std::move(error)));
  outs() << printable(folder) << '\n';
  for (const CacheUsage &usage : cacheUsage(folder))
    outs() << fmt::format("{:<15} {:>4}, {}{}\n", usage.what, usage.files, sizeText(usage.bytes),
                          boundText(usage.what, *bound));
  return Ok;
}

} // namespace attn::tool
