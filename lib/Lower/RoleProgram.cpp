//===- RoleProgram.cpp ----------------------------------------------------===//

#include "RoleProgram.h"

using namespace mlir;
using namespace pipemesh;

static pm::FragmentAttr fragmentOf(func::FuncOp function) {
  return function->getAttrOfType<pm::FragmentAttr>(pm::kFragmentAttr);
}

static pm::FragmentAttr fragmentOf(pm::ActionOp action) {
  return pm::FragmentAttr::get(action.getContext(), action.getKind(),
                               action.getStage());
}

FailureOr<RoleProgram> RoleProgram::get(ModuleOp module, pm::RoleOp role) {
  RoleProgram program;
  llvm::DenseMap<Attribute, func::FuncOp> known;
  for (auto function : module.getOps<func::FuncOp>())
    if (pm::FragmentAttr fragment = fragmentOf(function))
      known[fragment] = function;
  for (Operation &op : role.getBody().front()) {
    if (auto action = dyn_cast<pm::ActionOp>(op)) {
      func::FuncOp function = known.lookup(fragmentOf(action));
      if (!function)
        return action.emitOpError("runs ")
               << pm::stringifyFragmentKind(action.getKind()) << " of stage "
               << action.getStage()
               << ", but the module has no such fragment";
      program.byKind[fragmentOf(action)] = function;
    } else if (auto send = dyn_cast<pm::SendOp>(op)) {
      program.named.insert(send.getBufferAttr());
    } else if (auto receive = dyn_cast<pm::ReceiveOp>(op)) {
      program.named.insert(receive.getBufferAttr());
    } else {
      continue;
    }
    program.entries.push_back(&op);
  }
  if (program.byKind.empty())
    return role.emitOpError("has no actions; run pm-schedule before "
                            "pm-lower-to-runtime");
  for (auto function : module.getOps<func::FuncOp>()) {
    pm::FragmentAttr fragment = fragmentOf(function);
    if (!fragment || program.byKind.lookup(fragment) != function)
      continue;
    program.fragments.push_back(function);
    auto note = [&](Attribute buffer, auto &users) {
      if (!buffer)
        return;
      program.named.insert(buffer);
      auto &list = users[buffer];
      if (list.empty() || list.back() != function)
        list.push_back(function);
    };
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
      note(function.getArgAttr(i, pm::kBufferAttr), program.readers);
    for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
      note(function.getResultAttr(i, pm::kBufferAttr), program.writers);
  }
  return program;
}

func::FuncOp RoleProgram::lookup(pm::ActionOp action) const {
  return byKind.lookup(fragmentOf(action));
}

bool RoleProgram::isWrittenPerMicroBatch(Attribute buffer) const {
  auto it = writers.find(buffer);
  return it != writers.end() && llvm::any_of(it->second, [](auto function) {
           return fragmentOf(function).isPerMicroBatch();
         });
}

bool RoleProgram::isLastReader(pm::BufferOp buffer,
                               func::FuncOp function) const {
  Attribute name = FlatSymbolRefAttr::get(buffer.getSymNameAttr());
  auto it = readers.find(name);
  if (it == readers.end() || buffer.getRole())
    return false;
  pm::FragmentAttr fragment = fragmentOf(function);
  if (llvm::any_of(it->second, [&](func::FuncOp reader) {
        return reader != function &&
               fragmentOf(reader).getKind() >= fragment.getKind();
      }))
    return false;
  // A send after the function's run would send what was put in its place.
  llvm::SmallDenseSet<int64_t> ran;
  for (Operation *entry : entries) {
    if (auto action = dyn_cast<pm::ActionOp>(entry)) {
      if (lookup(action) == function)
        ran.insert(action.getMicroBatch());
    } else if (auto send = dyn_cast<pm::SendOp>(entry)) {
      if (send.getBufferAttr() == name &&
          (fragment.isPerMicroBatch() ? ran.contains(send.getMicroBatch())
                                      : !ran.empty()))
        return false;
    }
  }
  if (buffer.getKind() == pm::BufferKind::Activation)
    return true;
  return !fragment.isPerMicroBatch() &&
         fragment.getKind() != pm::FragmentKind::Prologue &&
         (buffer.getKind() == pm::BufferKind::Accumulator ||
          buffer.getKind() == pm::BufferKind::Value);
}

bool RoleProgram::isReadUpTo(Attribute buffer, func::FuncOp function) const {
  auto it = readers.find(buffer);
  return it != readers.end() && llvm::any_of(it->second, [&](auto reader) {
           return fragmentOf(reader).getKind() <=
                  fragmentOf(function).getKind();
         });
}

int64_t RoleProgram::countSlots(Attribute buffer, int64_t microBatches) const {
  if (microBatches == 1)
    return 1;
  auto contains = [&](const auto &users, func::FuncOp function) {
    auto it = users.find(buffer);
    return it != users.end() && llvm::is_contained(it->second, function);
  };
  SmallVector<std::pair<int64_t, int64_t>> alive(microBatches, {-1, -1});
  for (auto [index, entry] : llvm::enumerate(entries)) {
    int64_t microBatch = -1;
    if (auto action = dyn_cast<pm::ActionOp>(entry)) {
      func::FuncOp function = lookup(action);
      if (!contains(readers, function) && !contains(writers, function))
        continue;
      if (!fragmentOf(function).isPerMicroBatch())
        return microBatches; // seen whole
      microBatch = action.getMicroBatch();
    } else if (auto send = dyn_cast<pm::SendOp>(entry)) {
      if (send.getBufferAttr() == buffer)
        microBatch = send.getMicroBatch();
    } else if (auto receive = dyn_cast<pm::ReceiveOp>(entry)) {
      if (receive.getBufferAttr() == buffer)
        microBatch = receive.getMicroBatch();
    }
    if (microBatch < 0 || microBatch >= microBatches)
      continue;
    auto &interval = alive[microBatch];
    if (interval.first < 0)
      interval.first = index;
    interval.second = index;
  }
  for (int64_t slots = 1; slots < microBatches; ++slots) {
    bool valid = true;
    for (int64_t a = 0; a < microBatches; ++a)
      for (int64_t b = a + slots; b < microBatches; b += slots)
        valid &= alive[a].second < alive[b].first ||
                 alive[b].second < alive[a].first;
    if (valid)
      return slots;
  }
  return microBatches;
}

Channels::Channels(pm::ProgramOp program) {
  auto add = [&](Attribute buffer, int64_t sender, int64_t receiver) {
    numbers.try_emplace(Key(buffer, sender, receiver), numbers.size());
  };
  for (auto role : program.getBody().front().getOps<pm::RoleOp>()) {
    int64_t self = role.getPipelineRank();
    for (Operation &op : role.getBody().front()) {
      if (auto send = dyn_cast<pm::SendOp>(op))
        add(send.getBufferAttr(), self, send.getPeer());
      else if (auto receive = dyn_cast<pm::ReceiveOp>(op))
        add(receive.getBufferAttr(), receive.getPeer(), self);
    }
  }
}

static int64_t rankOf(Operation *entry) {
  return cast<pm::RoleOp>(entry->getParentOp()).getPipelineRank();
}

int64_t Channels::lookup(pm::SendOp send) const {
  return numbers.lookup(
      Key(send.getBufferAttr(), rankOf(send), send.getPeer()));
}

int64_t Channels::lookup(pm::ReceiveOp receive) const {
  return numbers.lookup(
      Key(receive.getBufferAttr(), receive.getPeer(), rankOf(receive)));
}
