//===- Events.h - What roles do with each other ---------------------------===//

#ifndef PIPEMESH_RUNTIME_CHECK_EVENTS_H
#define PIPEMESH_RUNTIME_CHECK_EVENTS_H

#include "check/Order.h"

namespace pipemesh::proof {

/// One step of a role that another role can wait for, or that waits for one.
struct Event {
  enum Kind : uint32_t { Send, Receive, Meet, Await };
  Kind kind;
  uint32_t index; ///< of the channel or the meeting place
  uint64_t action;
  uint64_t instruction; ///< of a collective
  uint64_t count = 0;   ///< Await: receives that have to be done
};

struct ChannelEnds {
  uint32_t sender, receiver;
  uint64_t bytes = 0;
  std::vector<uint64_t> sends, receives; ///< actions
};

/// Roles that meet on a communicator, or all of them at the vote.
struct MeetingPlace {
  std::string name;
  std::vector<uint32_t> members;
  bool isVote = false;
};

struct Events {
  std::vector<ChannelEnds> channels;
  std::vector<MeetingPlace> places;
  std::vector<std::vector<Event>> ofRole;
};

/// Runs the events side by side: a send never waits, a receive waits for its
/// send, a meeting for all members. Returns the shortest cycle of roles that
/// wait for each other, or nothing. With `inFlight`, finds how many bytes may be
/// under way to each role.
std::string findCycle(const Tables &tables, const Events &events,
                      std::vector<uint64_t> *inFlight);

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_EVENTS_H
