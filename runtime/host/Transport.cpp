//===- Transport.cpp - How ranks meet, whatever carries the data ----------===//

#include "host/Transport.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

namespace pipemesh::runtime {

std::string packObjection(const std::optional<Objection> &objection) {
  if (!objection)
    return "";
  std::string text(reinterpret_cast<const char *>(&objection->value),
                   sizeof(objection->value));
  return text + (objection->gradient ? 'g' : 'l') + objection->buffer;
}

std::optional<Objection> firstObjection(const std::vector<std::string> &texts) {
  std::optional<Objection> first;
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    const std::string &text = texts[rank];
    Objection objection;
    constexpr size_t head = sizeof(objection.value);
    if (text.size() <= head)
      continue;
    objection.rank = static_cast<int64_t>(rank);
    std::memcpy(&objection.value, text.data(), head);
    objection.gradient = text[head] == 'g';
    objection.buffer = text.substr(head + 1);
    if (!first || objection.before(*first))
      first = objection;
  }
  return first;
}

void Transport::setRelease(std::function<void()> function) {
  std::lock_guard lock(releaseLock);
  release = std::move(function);
}

void Transport::giveBack() {
  std::function<void()> own;
  {
    std::lock_guard lock(releaseLock);
    own = release;
  }
  if (!own)
    return;
  auto isDone = std::make_shared<std::atomic<bool>>(false);
  std::thread([isDone, own] {
    try {
      own();
    } catch (const Error &) {
      // The job ends in any case.
    }
    isDone->store(true);
  }).detach();
  for (int i = 0; i < 100 && !isDone->load(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

void checkParcel(const Parcel &come, const Parcel &wanted, int64_t sender) {
  auto refuse = [&](const auto &...text) {
    throw Error(cat("what rank ", sender, " sends is not what is received here: ",
                    text...),
                mismatchStatus);
  };
  if (come.step != wanted.step || come.microBatch != wanted.microBatch)
    refuse("micro-batch ", come.microBatch, " of step ", come.step,
           " against micro-batch ", wanted.microBatch, " of step ", wanted.step);
  if (come.dtype != wanted.dtype)
    refuse("type ", come.dtype, " against ", wanted.dtype);
  if (come.bytes != wanted.bytes)
    refuse(come.bytes, " bytes against ", wanted.bytes);
}

std::string JobEnd::whereToRead(const std::string &folder) {
  return folder.empty() ? ""
                        : cat("; pmrun --read-flight=", folder,
                              " shows what all did last");
}

std::string leftOverText(int64_t sender, int64_t receiver, uint64_t count) {
  return cat("rank ", receiver, " has not received ", count,
             count == 1 ? " message" : " messages", " of rank ", sender,
             "; what it computed is not to be trusted");
}

void agree(Transport &transport, const std::function<void()> &work) {
  std::string problem;
  try {
    work();
  } catch (const Error &error) {
    problem = error.what();
  } catch (const std::bad_alloc &) {
    problem = "out of memory; use more micro-batches or fewer ranks";
  }
  std::vector<std::string> all = transport.exchange(problem);
  auto first = std::find_if(all.begin(), all.end(),
                            [](const auto &text) { return !text.empty(); });
  if (first == all.end())
    return;
  // One rank's own problem is told with its name.
  bool common = std::all_of(all.begin(), all.end(),
                            [&](const auto &text) { return text == *first; });
  if (common || first->rfind("rank ", 0) == 0)
    throw AgreedError(*first);
  throw AgreedError(cat("rank ", first - all.begin(), ": ", *first));
}

} // namespace pipemesh::runtime
