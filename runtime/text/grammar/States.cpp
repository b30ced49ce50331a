// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sets of places and stacks, as Thompson's algorithm has them for automata without stacks
// (Communications of the ACM 11, 1968).
#include "text/grammar/States.h"
#include "base/Sort.h"
#include <algorithm>

using namespace attn;
using namespace attn::grammar;

static size_t hashOfBytes(const void *data, size_t size) {
  return size_t(hashOf(Slice(static_cast<const char *>(data), size)));
}

void Frames::clear() {
  items.clear();
  for (uint32_t &slot : slots)
    slot = 0;
  items.push(Frame());
}

bool Frames::copyFrom(const Frames &other) {
  items.clear();
  slots.clear();
  return items.append(other.items.data(), other.items.size()) &&
         slots.append(other.slots.data(), other.slots.size());
}

bool Frames::grow() {
  Vector<uint32_t> grown;
  if (!grown.resize(std::max(size_t(64), 2 * slots.size())))
    return false;
  slots.swap(grown);
  for (uint32_t i = 1; i < items.size(); ++i) {
    size_t at = hashOfBytes(&items[i], sizeof(Frame)) & (slots.size() - 1);
    while (slots[at])
      at = (at + 1) & (slots.size() - 1);
    slots[at] = i;
  }
  return true;
}

uint32_t Frames::intern(const Frame &frame) {
  if (2 * items.size() >= slots.size() && !grow())
    return 0;
  size_t at = hashOfBytes(&frame, sizeof frame) & (slots.size() - 1);
  for (; slots[at]; at = (at + 1) & (slots.size() - 1))
    if (items[slots[at]] == frame)
      return slots[at];
  slots[at] = uint32_t(items.size());
  return items.push(frame) ? slots[at] : slots[at] = 0;
}

void States::clear() {
  states.clear();
  configs.clear();
  steps.clear();
  for (uint32_t &slot : slots)
    slot = 0;
}

uint32_t States::take(const States &other, uint32_t state) {
  waiting.clear();
  flags = other[state].flags;
  if (!waiting.append(other.configsOf(state), other[state].count))
    flags |= HasFailed;
  clear();
  return intern();
}

uint32_t States::keep(uint32_t state) { return take(*this, state); }

bool States::compact(uint32_t &state) {
  // A frame's parent has been made before it, so its number is less.
  Vector<uint32_t> moved;
  Frames kept;
  if (!moved.resize(frames.size()))
    return false;
  for (uint32_t i = 0; i < states[state].count; ++i)
    moved[configsOf(state)[i].frame] = 1;
  for (size_t i = frames.size() - 1; i > 0; --i)
    if (moved[i])
      moved[frames[uint32_t(i)].parent] = 1;
  for (uint32_t i = 1; i < frames.size(); ++i)
    if (moved[i]) {
      Frame frame = frames[i];
      frame.parent = frame.parent ? moved[frame.parent] : 0;
      moved[i] = kept.intern(frame);
      if (!moved[i])
        return false;
    }
  uint32_t first = states[state].first;
  for (uint32_t i = 0; i < states[state].count; ++i)
    if (uint32_t &frame = configs[first + i].frame; frame)
      frame = moved[frame];
  frames.swap(kept);
  state = keep(state);
  return true;
}

void States::restart() {
  pending.clear();
  flags = 0;
  if (met.size() > 256)
    met.resize(32);
  for (uint32_t &slot : met)
    slot = 0;
}

uint32_t States::begin() {
  Config start = {automaton.start(), 0};
  return stateOf(&start, 1);
}

uint32_t States::stateOf(const Config *from, size_t count) {
  restart();
  for (size_t i = 0; i < count; ++i)
    if (!reach(from[i].node, from[i].frame))
      flags |= HasFailed;
  return close();
}

bool States::reach(uint32_t node, uint32_t frame) {
  if (2 * pending.size() >= met.size()) {
    Vector<uint32_t> grown;
    if (pending.size() > 4 * maxConfigs || !grown.resize(std::max(size_t(32), 2 * met.size())))
      return false;
    met.swap(grown);
    for (uint32_t i = 0; i < pending.size(); ++i) {
      size_t at = hashOfBytes(&pending[i], sizeof(Config)) & (met.size() - 1);
      while (met[at])
        at = (at + 1) & (met.size() - 1);
      met[at] = i + 1;
    }
  }
  Config config = {node, frame};
  size_t at = hashOfBytes(&config, sizeof config) & (met.size() - 1);
  for (; met[at]; at = (at + 1) & (met.size() - 1))
    if (pending[met[at] - 1] == config)
      return true;
  met[at] = uint32_t(pending.size() + 1);
  return pending.push(config);
}

bool States::call(uint32_t rule, uint32_t next, uint32_t frame) {
  // Behind a call that is a rule's last, its own caller goes on: lists do not fill the stack.
  if (automaton.nodes[next].kind != Node::Return) {
    Frame made;
    made.parent = frame;
    made.place = next;
    frame = frames.intern(made);
    if (!frame)
      return false;
  }
  return reach(automaton.starts[rule], frame);
}

bool States::followEnd(Config config) {
  const Repetition &repetition = automaton.repetitions[automaton.nodes[config.node].first];
  Frame top = frames[config.frame];
  uint32_t parent = top.parent;
  bool isCut = false;
  if (top.least != endless && top.least > 0) {
    --top.least;
    isCut = top.least == 0 && (top.flags & Frame::LeastIsCut);
  }
  if (top.most != endless) {
    --top.most;
    isCut = isCut || (top.most == 0 && (top.flags & Frame::MostIsCut));
  }
  if (isCut) {
    flags |= IsUnknown;
    return true;
  }
  if (top.least == 0 && !reach(repetition.next, parent))
    return false;
  if (top.most == 0)
    return true;
  uint32_t again = frames.intern(top);
  return again && reach(repetition.body, again);
}

bool States::follow(Config config) {
  const Node &node = automaton.nodes[config.node];
  switch (node.kind) {
  case Node::Bytes:
    return waiting.push(config);
  case Node::Split:
    for (uint32_t i = 0; i < node.next; ++i)
      if (!reach(automaton.edges[node.first + i], config.frame))
        return false;
    return true;
  case Node::Call:
    return call(node.first, node.next, config.frame);
  case Node::Return: {
    if (config.frame == 0) {
      flags |= Ends;
      return true;
    }
    Frame top = frames[config.frame];
    return reach(top.place, top.parent);
  }
  case Node::Begin: {
    const Repetition &repetition = automaton.repetitions[node.first];
    Frame made;
    made.parent = config.frame;
    made.place = node.first;
    made.least = repetition.least;
    made.most = repetition.most;
    made.flags = Frame::IsRepetition;
    uint32_t frame = frames.intern(made);
    return frame && reach(repetition.body, frame) &&
           (repetition.least > 0 || reach(repetition.next, config.frame));
  }
  case Node::End:
    return followEnd(config);
  }
  return true;
}

uint32_t States::close() {
  waiting.clear();
  for (size_t i = 0; i < pending.size() && !(flags & HasFailed); ++i)
    if (!follow(pending[i]))
      flags |= HasFailed;
  if (waiting.size() > maxConfigs)
    flags |= HasFailed;
  if (flags & HasFailed)
    waiting.clear();
  sortValues(waiting.begin(), waiting.end(), [](auto a, auto b) { return a < b; });
  return intern();
}

uint32_t States::intern() {
  if (2 * states.size() + 2 >= slots.size()) {
    Vector<uint32_t> grown;
    if (!grown.resize(std::max(size_t(64), 2 * slots.size())))
      return lack();
    slots.swap(grown);
    for (uint32_t i = 0; i < states.size(); ++i) {
      size_t at = hashOfBytes(configsOf(i), states[i].count * sizeof(Config)) & (slots.size() - 1);
      while (slots[at])
        at = (at + 1) & (slots.size() - 1);
      slots[at] = i + 1;
    }
  }
  if (states.empty() && (!states.push({0, 0, 0}) || !steps.resize(256)))
    return lack();
  if (waiting.empty() && !flags)
    return dead;
  size_t at = hashOfBytes(waiting.data(), waiting.size() * sizeof(Config)) & (slots.size() - 1);
  for (; slots[at]; at = (at + 1) & (slots.size() - 1)) {
    const State &known = states[slots[at] - 1];
    if (known.flags == flags && known.count == waiting.size() &&
        std::equal(waiting.begin(), waiting.end(), configs.data() + known.first))
      return slots[at] - 1;
  }
  State made = {uint32_t(configs.size()), uint32_t(waiting.size()), flags};
  if (!configs.append(waiting.data(), waiting.size()) || !states.push(made) ||
      !cover(steps, states.size() * 256 - 1))
    return lack();
  slots[at] = uint32_t(states.size());
  return uint32_t(states.size() - 1);
}

uint32_t States::makeStep(uint32_t state, unsigned byte) {
  State from = states[state];
  restart();
  for (uint32_t i = 0; i < from.count; ++i) {
    Config config = configs[from.first + i];
    const Node &node = automaton.nodes[config.node];
    if (automaton.sets[node.first].has(byte) && !reach(node.next, config.frame))
      flags |= HasFailed;
  }
  uint32_t to = pending.empty() && !flags ? dead : close();
  steps[size_t(state) * 256 + byte] = to + 1;
  return to;
}

ByteSet States::nextOf(uint32_t state) const {
  ByteSet next;
  for (uint32_t i = 0; i < states[state].count; ++i)
    next.add(automaton.sets[automaton.nodes[configsOf(state)[i].node].first]);
  return next;
}
