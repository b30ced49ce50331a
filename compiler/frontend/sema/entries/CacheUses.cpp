// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What entries do with their caches, seen when their functions are built: which keys and values
// they push, fill in and read, and whether the entries of a cache fit together.
#include "compiler/frontend/sema/entries/PartialEntries.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "dialect/Attributes.h"
#include "dialect/Caches.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attn::frontend {

using namespace ast;
using mlir::func::CallOp;
using mlir::func::FuncOp;

namespace {

/// How often a function comes to the pushes of one state, 2 standing for more than once. In a
/// stack, layers have keys and values of their own, unless a push is none of the layer's.
struct PushCount {
  unsigned ofLayer = 0, ofAll = 0;
  bool isRead = false;
  mlir::Operation *last = nullptr;

  void add(const PushCount &other, bool inStack) {
    ofLayer = std::min(2u, ofLayer + other.ofLayer);
    ofAll = std::min(2u, ofAll + (inStack ? 2 : 1) * other.ofAll);
    isRead |= other.isRead;
    last = other.last;
  }
  /// The same layers' pushes in other functions of one stack.
  void addTurn(const PushCount &other) {
    ofLayer = std::max(ofLayer, other.ofLayer);
    ofAll = std::min(2u, ofAll + other.ofAll);
    isRead |= other.isRead;
    last = other.last;
  }
  unsigned pushes() const { return ofLayer + ofAll; }
};
using PushCounts = llvm::MapVector<mlir::StringAttr, PushCount>;

/// The entries of one cache.
struct CacheEntries {
  struct Parts {
    SourceRange place;
    std::set<std::string> states;
  };
  std::optional<Parts> first; ///< Of those that push to it or fill it.
  std::vector<Parts> reading;
};

/// Goes through all entries.
class CacheUses {
public:
  explicit CacheUses(Sema &sema) : sema(sema) {}

  void run();

private:
  const PushCounts &count(FuncOp function);
  void note(const BuiltEntry &built);
  std::optional<CacheUse> useOf(const BuiltEntry &built, Decl &cache, const PushCounts &counts);
  void checkTwice(const BuiltEntry &built, const PushCounts &counts);
  void checkSame(const BuiltEntry &built, Decl &cache, std::set<std::string> states);
  void checkFilled();

  Sema &sema;
  std::map<mlir::Operation *, PushCounts> known;
  llvm::MapVector<Decl *, CacheEntries> entries;
};

} // namespace

/// Through the blocks that a function applies, each of which is looked at once.
const PushCounts &CacheUses::count(FuncOp function) {
  auto [place, isFirst] = known.insert({function, {}});
  if (!isFirst)
    return place->second;
  PushCounts &counts = place->second;
  // By the place of the application, of which a stack has calls for layers of several kinds.
  llvm::MapVector<mlir::Location, PushCounts> applied;
  function.walk([&](mlir::Operation *op) {
    if (auto push = llvm::dyn_cast<PushOp>(op))
      counts[push.getStateAttr().getAttr()].add(push.getLayer() ? PushCount{1, 0, false, push}
                                                                : PushCount{0, 1, false, push},
                                                /*inStack=*/false);
    if (auto kept = llvm::dyn_cast<KeptOp>(op))
      counts[kept.getStateAttr().getAttr()].add({0, 0, true, kept}, /*inStack=*/false);
    if (auto call = llvm::dyn_cast<CallOp>(op))
      if (auto callee = sema.output.module->lookupSymbol<FuncOp>(call.getCallee()))
        for (const auto &[state, inside] : count(callee)) {
          PushCount own;
          own.add(inside, op->getParentOfType<mlir::scf::ForOp>() != nullptr);
          applied[call.getLoc()][state].addTurn(own);
        }
  });
  for (const auto &[loc, own] : applied)
    for (const auto &[state, inside] : own)
      counts[state].add(inside, /*inStack=*/false);
  return counts;
}

/// The axis of what is pushed that the cache holds.
static Axis rowsOf(PushOp push, StateOp state) {
  Axis rows = axesOfValue(push.getRows())[state.axis()];
  llvm::StringRef size = llvm::StringRef(rows.name).rsplit(':').second;
  if (rows.isDynamic() && !size.empty())
    rows.name = size.str();
  return rows;
}

void CacheUses::checkTwice(const BuiltEntry &built, const PushCounts &counts) {
  if (sema.options.taps) // layers are calls one after the other then
    return;
  for (const auto &[state, count] : counts) {
    if (count.pushes() < 2)
      continue;
    auto cache = sema.output.module->lookupSymbol<StateOp>(state).getCache();
    bool isOnce = llvm::any_of(
        built.caches, [&](const Decl *decl) { return decl->name == cache && decl->isOnce; });
    sema.report
        .error(DiagCode::PushedTwice, sema.entry.pushes[count.last],
               llvm::Twine("an entry comes here more than once, and ") +
                   (isOnce ? "fills in" : "pushes to") + " the same keys and values")
        .note("a stack has keys and values for each of its layers; whatever else pushes to a "
              "cache does so once")
        .help("apply the block as a part: `part name: Block`");
  }
}

/// What an entry pushes or fills in is what the first one did.
void CacheUses::checkSame(const BuiltEntry &built, Decl &cache, std::set<std::string> states) {
  std::optional<CacheEntries::Parts> &first = entries[&cache].first;
  SourceRange place = built.entry->signature.name.range;
  if (!first)
    first = {place, std::move(states)};
  else if (first->states != states)
    sema.report
        .error(DiagCode::CacheParts, place,
               llvm::Twine("this entry ") + (cache.isOnce ? "fills in" : "pushes to") +
                   " other keys and values of `" + cache.name + "` than another one")
        .at(first->place, "this one")
        .note("what an entry does not push is missing at its positions for the next call")
        .help("declare a cache for each: `cache other capacity " + llvm::Twine(cache.size.offset) +
              "`");
}

/// What an entry does with a cache; nothing where it does not use it.
std::optional<CacheUse> CacheUses::useOf(const BuiltEntry &built, Decl &cache,
                                         const PushCounts &counts) {
  std::set<std::string> pushed, read;
  std::optional<Axis> rows;
  for (const auto &[name, count] : counts) {
    auto state = sema.output.module->lookupSymbol<StateOp>(name);
    if (state.getCache() != cache.name)
      continue;
    if (count.isRead)
      read.insert(name.str());
    auto push = llvm::dyn_cast<PushOp>(count.last);
    if (!push)
      continue;
    pushed.insert(name.str());
    Axis own = rowsOf(push, state);
    if (rows && (rows->size != own.size || (own.isDynamic() && rows->name != own.name)))
      sema.report.error(DiagCode::CacheOnce, sema.entry.pushes[push],
                        "`" + cache.name + "` is filled along axes of other sizes, `" + rows->name +
                            "` and `" + own.name + "`");
    rows = own;
  }
  if (built.entry->rows && cache.isOnce && !cache.firstFilled.empty())
    sema.report
        .error(DiagCode::EntryDim, built.entry->rows->range,
               "rows are by themselves where caches are pushed to alone, but `" + cache.name +
                   "` is filled at once")
        .at(cache.firstFilled, "filled here");
  bool isCounted = built.counter == &cache && !cache.isOnce && built.entry->only.empty();
  CacheUse::Kind kind = CacheUse::Kind::Read;
  if (!pushed.empty() || isCounted) {
    kind = cache.isOnce ? CacheUse::Kind::Fill : CacheUse::Kind::Push;
    rows = cache.isOnce ? rows : built.rows;
    checkSame(built, cache, std::move(pushed));
  } else if (read.empty()) {
    return std::nullopt;
  } else {
    entries[&cache].reading.push_back({built.entry->signature.name.range, std::move(read)});
    rows = Axis{"", 0};
    if (!cache.isOnce)
      sema.report
          .error(DiagCode::EntryPart, built.entry->only.front().range,
                 "what `" + built.entry->only.front().text + "` is filled with depends on `" +
                     cache.name + "`, which the entry does not push to")
          .help("write `only " + built.entry->only.front().text + ", " + cache.name + "`",
                Edit{{built.entry->only.back().range.end, built.entry->only.back().range.end},
                     ", " + cache.name});
  }
  mlir::MLIRContext *context = &sema.mlirContext;
  return CacheUse{
      mlir::FlatSymbolRefAttr::get(context, cache.name), kind,
      mlir::StringAttr::get(context, rows->isDynamic() ? rows->name : std::to_string(rows->size))};
}

void CacheUses::note(const BuiltEntry &built) {
  const PushCounts &counts = count(built.function);
  checkTwice(built, counts);
  llvm::SmallVector<mlir::Attribute> uses;
  std::set<std::string> used;
  for (Decl *cache : built.caches)
    if (std::optional<CacheUse> use = useOf(built, *cache, counts)) {
      uses.push_back(use->attribute());
      used.insert(cache->name);
    }
  for (const Name &name : built.entry->only)
    if (!used.count(name.text))
      sema.report.error(DiagCode::EntryPart, name.range,
                        "`forward` fills `" + name.text + "` with nothing");
  if (!uses.empty())
    mlir::func::FuncOp(built.function)
        ->setAttr(attributes::caches, sema.builder.getArrayAttr(uses));
}

/// What an entry reads, the others fill in.
void CacheUses::checkFilled() {
  for (const auto &[cache, own] : entries)
    for (const CacheEntries::Parts &reading : own.reading) {
      bool isFilled = own.first && llvm::all_of(reading.states, [first = own.first](auto &state) {
                        return first->states.count(state);
                      });
      if (isFilled)
        continue;
      Diagnostic &diagnostic =
          sema.report.error(DiagCode::CacheParts, reading.place,
                            "this entry reads `" + cache->name + "`, which no entry fills");
      diagnostic.at(cache->firstFilled, "what it would be filled with");
      diagnostic.help("add an entry that has what it is filled with: `entry prefill = forward`");
    }
}

void CacheUses::run() {
  for (const BuiltEntry &built : sema.entry.built)
    note(built);
  if (!sema.report.diagnostics.hasErrors())
    checkFilled();
}

void noteCaches(Sema &sema) { CacheUses(sema).run(); }

} // namespace attn::frontend
