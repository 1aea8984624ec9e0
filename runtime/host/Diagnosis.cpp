//===- Diagnosis.cpp - Why a job stands still -----------------------------===//

#include "host/Diagnosis.h"

#include "host/Program.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace pipemesh::runtime {

Diagnosis::Diagnosis(
    const Bundle &bundle,
    const std::function<std::optional<FlightLog>(int64_t)> &read)
    : bundle(bundle) {
  for (int64_t rank = 0; rank < bundle.manifest().mesh.ranks(); ++rank)
    logs.push_back(read(rank));
}

Diagnosis::Diagnosis(const Bundle &bundle, const std::string &folder)
    : Diagnosis(bundle, [&](int64_t rank) -> std::optional<FlightLog> {
        try {
          FlightLog log = readFlight(flightPath(folder, rank));
          if (log.hash == bundle.manifest().hash)
            return log;
        } catch (const Error &) {
          // It cannot be seen from here.
        }
        return std::nullopt;
      }) {}

const pmrt_role &Diagnosis::roleOf(int64_t rank) const {
  return bundle.role(bundle.manifest().mesh.role(rank));
}

//===----------------------------------------------------------------------===//
// One rank
//===----------------------------------------------------------------------===//

/// "30 s", "0.2 s".
static std::string secondsText(uint64_t nanoseconds) {
  uint64_t tenths = (nanoseconds + 50'000'000u) / 100'000'000u;
  return tenths >= 100 ? cat(tenths / 10, " s")
                       : cat(tenths / 10, ".", tenths % 10, " s");
}

std::string Diagnosis::activity(int64_t rank) const {
  const Manifest &manifest = bundle.manifest();
  if (!logs[rank])
    return "cannot be seen from here";
  const RecordedActivity &now = logs[rank]->activity;
  std::string since =
      secondsText(logs[rank]->readAt - std::min(now.since, logs[rank]->readAt));
  if (now.step < 0)
    return "has not begun a step";
  if (now.state == Record::Idle)
    return cat("is done with step ", now.step, " since ", since);
  std::string verb =
      cat(now.state == Record::Waiting ? "waits for " : "has been for ", since,
          " in ");
  if (now.isVote())
    return cat(verb, "the check before the update (step ", now.step, ")");
  const pmrt_role &role = roleOf(rank);
  if (now.action >= role.num_actions)
    return cat("is in step ", now.step);
  const pmrt_action &entry = role.actions[now.action];
  const RoleInfo &info = manifest.roles[manifest.mesh.role(rank)];
  if (entry.kind != PMRT_RUN)
    return cat(verb, entry.kind == PMRT_SEND ? "the send" : "the receive",
               " of '", info.buffers[entry.index].name, "' ",
               entry.kind == PMRT_SEND ? "to " : "from ",
               manifest.mesh.describe(manifest.mesh.peer(rank, entry.peer)),
               " (micro-batch ", entry.micro_batch, ", step ", now.step, ")");
  const pmrt_body &body = role.bodies[entry.index];
  std::string place = cat(" (fragment '", body.name, "', micro-batch ",
                          entry.micro_batch, ", step ", now.step, ")");
  if (now.instruction >= body.num_instructions)
    return cat(verb, "'", body.name, "'", place);
  const FlightEntry *collective = collectiveOf(rank);
  return cat(verb,
             collective ? entryText(*collective)
                        : describe(body.instructions[now.instruction]),
             place);
}

std::string Diagnosis::lastOf(int64_t rank) const {
  if (!logs[rank] || logs[rank]->entries.empty())
    return "";
  const FlightEntry &last = logs[rank]->entries.back();
  return cat(", its last was ", entryText(last),
             last.end ? "" : ", which it is in");
}

//===----------------------------------------------------------------------===//
// Who waits for whom
//===----------------------------------------------------------------------===//

/// The axes of a collective, and what else tells its communicator from others.
static std::string laneOf(const FlightEntry &entry) {
  std::string place(entry.place, strnlen(entry.place, sizeof(entry.place)));
  return place.substr(0, place.find(" at "));
}

const pmrt_communicator *Diagnosis::communicatorAt(int64_t rank) const {
  if (!logs[rank] || logs[rank]->activity.isVote())
    return nullptr;
  const RecordedActivity &now = logs[rank]->activity;
  const pmrt_role &role = roleOf(rank);
  if (now.action >= role.num_actions ||
      role.actions[now.action].kind != PMRT_RUN)
    return nullptr;
  const pmrt_body &body = role.bodies[role.actions[now.action].index];
  if (now.instruction >= body.num_instructions)
    return nullptr;
  const pmrt_instruction *at = &body.instructions[now.instruction];
  if (at->opcode == PMRT_OP_WAIT) {
    uint32_t event = at->event;
    at = nullptr;
    for (uint32_t b = 0; b < role.num_bodies && !at; ++b)
      for (uint64_t i = 0; i < role.bodies[b].num_instructions; ++i)
        if (const pmrt_instruction &one = role.bodies[b].instructions[i];
            isCollective(one) && one.event == event)
          at = &one;
  }
  return at && isCollective(*at) ? &role.communicators[communicatorOf(*at)]
                                 : nullptr;
}

const FlightEntry *Diagnosis::collectiveOf(int64_t rank) const {
  const pmrt_communicator *communicator = communicatorAt(rank);
  if (!communicator || logs[rank]->activity.state != Record::Waiting)
    return nullptr;
  // Those of a communicator go on one after the other.
  std::string lane = laneText(bundle.manifest().mesh, *communicator);
  const FlightEntry *first = nullptr;
  for (const FlightEntry &entry : logs[rank]->entries)
    if (entry.run && laneOf(entry) == lane) {
      if (entry.end)
        first = nullptr;
      else if (!first)
        first = &entry;
    }
  return first;
}

std::vector<int64_t> Diagnosis::groupOf(int64_t rank) const {
  const pmrt_communicator *communicator = communicatorAt(rank);
  if (!communicator)
    return {};
  return bundle.manifest().mesh.group(
      rank, {communicator->axes, communicator->axes + communicator->num_axes});
}

std::string Diagnosis::neverEntered(int64_t other, int64_t waiting) const {
  const FlightEntry *own = collectiveOf(waiting);
  std::vector<int64_t> group = own ? groupOf(waiting) : std::vector<int64_t>();
  if (!own || !logs[other] ||
      std::find(group.begin(), group.end(), other) == group.end())
    return "";
  uint64_t come = 0;
  for (const FlightEntry &entry : logs[other]->entries)
    if (entry.run && laneOf(entry) == laneOf(*own))
      come = entry.run;
  return come < own->run ? entryText(*own) : "";
}

bool Diagnosis::waitsBetweenSteps(int64_t rank) const {
  return logs[rank] && logs[rank]->activity.state == Record::Idle;
}

std::vector<int64_t> Diagnosis::behind(int64_t rank) const {
  std::vector<int64_t> ranks;
  const RecordedActivity &own = logs[rank]->activity;
  for (size_t other = 0; other < logs.size(); ++other) {
    if (!logs[other] || static_cast<int64_t>(other) == rank)
      continue;
    const RecordedActivity &theirs = logs[other]->activity;
    bool come = own.isVote()
                    ? theirs.isVote() && theirs.step >= own.step
                    : theirs.state == Record::Idle && theirs.step >= own.step &&
                          processText(*logs[other]).empty();
    // Who has left the vote of this step is in none.
    if (own.isVote() && theirs.step > own.step)
      come = true;
    if (!come)
      ranks.push_back(static_cast<int64_t>(other));
  }
  return ranks;
}

std::vector<int64_t> Diagnosis::awaitedBy(int64_t rank) const {
  if (!logs[rank] || logs[rank]->activity.state != Record::Waiting)
    return {};
  const RecordedActivity &now = logs[rank]->activity;
  if (now.isVote())
    return behind(rank);
  const pmrt_role &role = roleOf(rank);
  if (now.action >= role.num_actions)
    return {};
  const pmrt_action &action = role.actions[now.action];
  // On the host a send never waits.
  if (action.kind != PMRT_RUN)
    // One that stands still in front of it waits for nobody.
    return logs[rank]->entries.empty() || logs[rank]->entries.back().end
               ? std::vector<int64_t>()
               : std::vector<int64_t>{
                     bundle.manifest().mesh.peer(rank, action.peer)};
  std::vector<int64_t> awaited;
  for (int64_t other : groupOf(rank))
    if (!neverEntered(other, rank).empty())
      awaited.push_back(other);
  return awaited;
}

std::string Diagnosis::lateText(int64_t rank,
                                const std::vector<int64_t> &absent) const {
  const Mesh &mesh = bundle.manifest().mesh;
  std::string text = mesh.describe(rank) + " ";
  // A GPU does not know who is missing: the records do.
  std::vector<int64_t> listed = absent.empty() ? awaitedBy(rank) : absent;
  if (waitsBetweenSteps(rank))
    text += cat("waits for the others behind step ",
                logs[rank]->activity.step);
  else
    text += activity(rank);
  // All meet in the vote and between steps, but hear from one only.
  if (logs[rank] &&
      (waitsBetweenSteps(rank) || logs[rank]->activity.isVote()))
    if (std::vector<int64_t> late = behind(rank); !late.empty())
      listed = late;
  text += listed.empty() ? ", longer than --deadline; none of its ranks is absent: "
                           "what carries the data stands still"
                         : ", longer than --deadline; absent: ";
  // Whoever waits leads to those that it waits for.
  std::set<int64_t> seen(listed.begin(), listed.end());
  seen.insert(rank);
  std::vector<int64_t> askedBy(listed.size(), rank);
  for (size_t i = 0; i < listed.size(); ++i) {
    int64_t other = listed[i];
    std::string never = neverEntered(other, askedBy[i]);
    text += cat(i ? "; " : "", mesh.describe(other), ", which ",
                never.empty() ? "" : cat("never entered ", never, " and "),
                activity(other));
    std::vector<int64_t> awaited = awaitedBy(other);
    for (size_t k = 0; k < awaited.size(); ++k) {
      text += cat(k ? " and " : " without ", "rank ", awaited[k]);
      if (seen.insert(awaited[k]).second) {
        listed.push_back(awaited[k]);
        askedBy.push_back(other);
      }
    }
    text += lastOf(other);
    if (logs[other])
      text += processText(*logs[other]);
  }
  return text;
}

} // namespace pipemesh::runtime
