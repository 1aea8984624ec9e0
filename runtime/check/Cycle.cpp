//===- Cycle.cpp - Roles run side by side ---------------------------------===//

#include "check/Events.h"

#include <deque>

namespace pipemesh::proof {

namespace {

/// How many events of each role lie before something.
using Clock = std::vector<uint64_t>;

class Run {
public:
  Run(const Tables &tables, const Events &events, bool measures)
      : tables(tables), events(events), measures(measures),
        next(events.ofRole.size()), meets(events.ofRole.size()),
        channels(events.channels.size()),
        places(events.places.size()),
        clocks(events.ofRole.size(), Clock(events.ofRole.size())) {
    for (size_t i = 0; i < places.size(); ++i)
      places[i].arrived.resize(events.ofRole.size());
  }

  void run();
  std::string cycle() const;
  std::vector<uint64_t> inFlight() const;

private:
  struct Channel {
    uint64_t sent = 0, received = 0;
    std::vector<uint32_t> sleepers;
    std::deque<Clock> clocks; ///< of messages that are under way
    std::vector<uint64_t> receiveEvents;
    uint64_t known = 0, most = 0;
  };
  struct Place {
    std::vector<uint64_t> arrived; ///< by role
    uint64_t complete = 0, waiting = 0;
    std::vector<uint32_t> sleepers;
    Clock clock;
  };

  bool step(uint32_t role, const Event &event);
  void send(uint32_t role, uint32_t index);
  void wake(std::vector<uint32_t> &sleepers) {
    ready.insert(ready.end(), sleepers.begin(), sleepers.end());
    sleepers.clear();
  }
  void merge(Clock &into, const Clock &other) const {
    for (size_t i = 0; i < into.size(); ++i)
      into[i] = std::max(into[i], other[i]);
  }
  std::vector<uint32_t> waitedFor(uint32_t role) const;
  std::string describeWait(uint32_t role, uint32_t other) const;
  bool isDone(uint32_t role) const {
    return next[role] == events.ofRole[role].size();
  }

  const Tables &tables;
  const Events &events;
  bool measures;
  std::vector<uint64_t> next;
  std::vector<bool> meets; ///< stands at a meeting
  std::vector<Channel> channels;
  std::vector<Place> places;
  std::vector<Clock> clocks;
  std::vector<uint32_t> ready;
};

} // namespace

void Run::send(uint32_t role, uint32_t index) {
  Channel &channel = channels[index];
  ++channel.sent;
  if (measures) {
    // Receives that are done for sure when this one is sent.
    uint64_t done = clocks[role][events.channels[index].receiver];
    while (channel.known < channel.receiveEvents.size() &&
           channel.receiveEvents[channel.known] < done)
      ++channel.known;
    channel.most = std::max(channel.most, channel.sent - channel.known);
    channel.clocks.push_back(clocks[role]);
    channel.clocks.back()[role] = next[role] + 1;
  }
  wake(channel.sleepers);
}

/// False where the role has to wait.
bool Run::step(uint32_t role, const Event &event) {
  switch (event.kind) {
  case Event::Send:
    send(role, event.index);
    return true;
  case Event::Receive: {
    Channel &channel = channels[event.index];
    if (channel.received == channel.sent) {
      channel.sleepers.push_back(role);
      return false;
    }
    ++channel.received;
    if (measures) {
      merge(clocks[role], channel.clocks.front());
      channel.clocks.pop_front();
      channel.receiveEvents.push_back(next[role]);
    }
    wake(channel.sleepers);
    return true;
  }
  case Event::Await: {
    Channel &channel = channels[event.index];
    if (channel.received >= event.count)
      return true;
    channel.sleepers.push_back(role);
    return false;
  }
  case Event::Meet:
    break;
  }
  Place &place = places[event.index];
  size_t members = events.places[event.index].members.size();
  // A role that waits comes here again when it is woken.
  if (!meets[role]) {
    meets[role] = true;
    ++place.arrived[role];
    if (++place.waiting == members) {
      ++place.complete;
      place.waiting = 0;
      if (measures) {
        place.clock.assign(clocks.size(), 0);
        for (uint32_t member : events.places[event.index].members) {
          merge(place.clock, clocks[member]);
          place.clock[member] = std::max(place.clock[member], next[member]);
        }
      }
      wake(place.sleepers);
    }
  }
  if (place.arrived[role] > place.complete) {
    place.sleepers.push_back(role);
    return false;
  }
  meets[role] = false;
  if (measures)
    merge(clocks[role], place.clock);
  return true;
}

void Run::run() {
  for (uint32_t role = 0; role < next.size(); ++role)
    ready.push_back(role);
  while (!ready.empty()) {
    uint32_t role = ready.back();
    ready.pop_back();
    while (!isDone(role) && step(role, events.ofRole[role][next[role]])) {
      ++next[role];
      clocks[role][role] = next[role];
    }
  }
}

std::vector<uint32_t> Run::waitedFor(uint32_t role) const {
  const Event &event = events.ofRole[role][next[role]];
  if (event.kind == Event::Receive)
    return {events.channels[event.index].sender};
  if (event.kind == Event::Await)
    return {events.channels[event.index].receiver};
  std::vector<uint32_t> others;
  const Place &place = places[event.index];
  for (uint32_t member : events.places[event.index].members)
    if (place.arrived[member] < place.arrived[role])
      others.push_back(member);
  return others;
}

std::string Run::describeWait(uint32_t role, uint32_t other) const {
  const Role &of = tables.roles[role];
  const Event &event = events.ofRole[role][next[role]];
  if (event.kind == Event::Receive)
    return cat(describe(of, event.action), " waits for role ", other);
  if (event.kind == Event::Await)
    return cat(describe(of, event.action), " writes a slot that role ", other,
               " has not received yet");
  const MeetingPlace &place = events.places[event.index];
  if (place.isVote)
    return cat("role ", role, ", vote before action ", event.action,
               " waits for role ", other);
  const pmrt_body &body =
      of.table.bodies[of.table.actions[event.action].index];
  return cat(describe(of, event.action), ", instruction ", event.instruction,
             " (", describe(body.instructions[event.instruction]), ") over ",
             place.name, " waits for role ", other);
}

/// The shortest of the cycles, by a search from each role that waits.
std::string Run::cycle() const {
  std::vector<uint32_t> shortest;
  auto count = static_cast<uint32_t>(next.size());
  bool stuck = false;
  for (uint32_t start = 0; start < count; ++start) {
    if (isDone(start))
      continue;
    stuck = true;
    constexpr uint32_t none = ~0u;
    std::vector<uint32_t> from(count, none);
    std::deque<uint32_t> queue = {start};
    bool closed = false;
    while (!queue.empty() && !closed) {
      uint32_t role = queue.front();
      queue.pop_front();
      for (uint32_t other : waitedFor(role)) {
        if (other == start) {
          std::vector<uint32_t> path;
          for (uint32_t at = role; at != none && at != start; at = from[at])
            path.insert(path.begin(), at);
          path.insert(path.begin(), start);
          if (shortest.empty() || path.size() < shortest.size())
            shortest = path;
          closed = true;
          break;
        }
        if (isDone(other) || from[other] != none)
          continue;
        from[other] = role;
        queue.push_back(other);
      }
    }
  }
  if (!stuck)
    return "";
  std::string text = "the roles wait for each other";
  for (size_t i = 0; i < shortest.size(); ++i)
    text += cat("\n  ", describeWait(shortest[i],
                                     shortest[(i + 1) % shortest.size()]));
  return text;
}

std::vector<uint64_t> Run::inFlight() const {
  std::vector<uint64_t> bytes(next.size());
  for (size_t i = 0; i < channels.size(); ++i)
    bytes[events.channels[i].receiver] +=
        channels[i].most * events.channels[i].bytes;
  return bytes;
}

std::string findCycle(const Tables &tables, const Events &events,
                      std::vector<uint64_t> *inFlight) {
  Run run(tables, events, inFlight != nullptr);
  run.run();
  std::string cycle = run.cycle();
  if (inFlight)
    *inFlight = run.inFlight();
  return cycle;
}

} // namespace pipemesh::proof
