//===- Order.cpp - Do the roles wait for each other forever? --------------===//

#include "check/Events.h"

#include <cstring>
#include <map>
#include <unordered_map>

namespace pipemesh::proof {

namespace {

/// A collective that a role comes to.
struct Coming {
  uint32_t body;
  uint64_t action, instruction;
};

class OrderCheck {
public:
  OrderCheck(const Tables &tables,
             const std::vector<std::vector<BodyFacts>> &bodies)
      : tables(tables), bodies(bodies) {}

  OrderFacts run();

private:
  void findChannels();
  void matchTransfers() const;
  void findPlaces();
  void compareCollectives() const;
  void makeEvents();
  Events withoutBuffers() const;
  uint64_t voteAt(const Role &role) const;
  uint32_t channelOf(const Role &role, const pmrt_action &action) const;
  /// Members of the group of a role on a communicator, and its name.
  std::pair<std::string, std::vector<uint32_t>>
  groupOf(const Role &role, uint32_t communicator) const;

  const Tables &tables;
  const std::vector<std::vector<BodyFacts>> &bodies;
  Events events;
  std::unordered_map<uint64_t, uint32_t> channels;
  std::map<std::string, uint32_t> places;
  /// By role and body: the collectives that meet other roles, with the place.
  std::vector<std::vector<std::vector<std::pair<uint64_t, uint32_t>>>> spanning;
  bool votes = false;
};

} // namespace

static uint64_t keyOf(uint32_t sender, uint32_t receiver, uint32_t channel) {
  return (uint64_t(sender) << 48) | (uint64_t(receiver) << 32) | channel;
}

uint32_t OrderCheck::channelOf(const Role &role,
                               const pmrt_action &action) const {
  bool send = action.kind == PMRT_SEND;
  return channels.at(keyOf(send ? role.number : action.peer,
                           send ? action.peer : role.number, action.channel));
}

void OrderCheck::findChannels() {
  for (const Role &role : tables.roles)
    for (uint64_t a = 0; a < role.table.num_actions; ++a) {
      const pmrt_action &action = role.table.actions[a];
      if (action.kind == PMRT_RUN)
        continue;
      bool send = action.kind == PMRT_SEND;
      uint32_t sender = send ? role.number : action.peer;
      uint32_t receiver = send ? action.peer : role.number;
      auto [entry, isNew] =
          channels.try_emplace(keyOf(sender, receiver, action.channel),
                               static_cast<uint32_t>(events.channels.size()));
      if (isNew)
        events.channels.push_back({sender, receiver, 0, {}, {}});
      ChannelEnds &ends = events.channels[entry->second];
      ends.bytes =
          std::max(ends.bytes, role.table.buffers[action.index].bytes);
      (send ? ends.sends : ends.receives).push_back(a);
    }
}

void OrderCheck::matchTransfers() const {
  for (const ChannelEnds &ends : events.channels) {
    const Role &from = tables.roles[ends.sender];
    const Role &to = tables.roles[ends.receiver];
    uint32_t first = ~0u;
    for (size_t i = 0; i < std::max(ends.sends.size(), ends.receives.size());
         ++i) {
      if (i >= ends.receives.size())
        refuse("transfer", describe(from, ends.sends[i]),
               " is received by nobody");
      if (i >= ends.sends.size())
        refuse("transfer", describe(to, ends.receives[i]),
               " waits for what nobody sends");
      const pmrt_action &sent = from.table.actions[ends.sends[i]];
      const pmrt_action &received = to.table.actions[ends.receives[i]];
      const pmrt_buffer &source = from.table.buffers[sent.index];
      const pmrt_buffer &target = to.table.buffers[received.index];
      auto differ = [&](const auto &a, const auto &b) {
        refuse("transfer", describe(to, ends.receives[i]), " gets ",
               describe(from, ends.sends[i]), ": ", a, " is sent where ", b,
               " is received");
      };
      if (std::strcmp(source.name, target.name) != 0)
        differ(cat("'", source.name, "'"), cat("'", target.name, "'"));
      if (sent.micro_batch != received.micro_batch)
        differ(cat("micro-batch ", sent.micro_batch),
               cat("micro-batch ", received.micro_batch));
      if (source.bytes != target.bytes)
        differ(cat(source.bytes, " bytes"), cat(target.bytes, " bytes"));
      if (source.dtype != target.dtype)
        differ(dtypeText(source.dtype), dtypeText(target.dtype));
      if (first == ~0u)
        first = sent.index;
      if (sent.index != first)
        refuse("transfer", describe(from, ends.sends[i]),
               " uses the channel of '", from.table.buffers[first].name, "'");
    }
  }
}

std::pair<std::string, std::vector<uint32_t>>
OrderCheck::groupOf(const Role &role, uint32_t communicator) const {
  const pmrt_communicator &info = role.table.communicators[communicator];
  std::vector<bool> meets(role.table.num_axes);
  for (uint32_t i = 0; i < info.num_axes; ++i)
    meets[info.axes[i]] = true;
  // Coordinates of roles along the stage axes, the last one fastest.
  auto coordinates = [&](uint32_t number) {
    std::vector<uint32_t> position(role.table.num_axes);
    for (uint32_t a = role.table.num_axes; a-- > 0;)
      if (role.table.axes[a].kind == 2) {
        position[a] = number % role.table.axes[a].size;
        number /= role.table.axes[a].size;
      }
    return position;
  };
  std::string name;
  std::vector<uint32_t> own = coordinates(role.number), members;
  for (uint32_t a = 0; a < role.table.num_axes; ++a)
    if (meets[a])
      name += cat(name.empty() ? "'" : ", '", role.table.axes[a].name, "'");
    else if (role.table.axes[a].kind == 2)
      name += cat(name.empty() ? "" : ", ", role.table.axes[a].name, "=",
                  own[a]);
  for (uint32_t other = 0; other < tables.roles.size(); ++other) {
    std::vector<uint32_t> position = coordinates(other);
    bool same = true;
    for (uint32_t a = 0; a < role.table.num_axes; ++a)
      same &= meets[a] || position[a] == own[a];
    if (same)
      members.push_back(other);
  }
  return {name, members};
}

void OrderCheck::findPlaces() {
  spanning.resize(tables.roles.size());
  for (const Role &role : tables.roles) {
    const pmrt_role &table = role.table;
    std::vector<int64_t> placeOf(table.num_communicators, -1);
    for (uint32_t c = 0; c < table.num_communicators; ++c) {
      if (!spansRoles(table, c))
        continue;
      auto [name, members] = groupOf(role, c);
      auto [entry, isNew] = places.try_emplace(
          name, static_cast<uint32_t>(events.places.size()));
      if (isNew)
        events.places.push_back({name, members, false});
      placeOf[c] = entry->second;
    }
    spanning[role.number].resize(table.num_bodies);
    for (uint32_t b = 0; b < table.num_bodies; ++b)
      for (uint64_t i : bodies[role.number][b].collectives) {
        int64_t place =
            placeOf[communicatorOf(table.bodies[b].instructions[i])];
        if (place >= 0)
          spanning[role.number][b].push_back(
              {i, static_cast<uint32_t>(place)});
      }
    for (uint32_t b = 0; b < table.num_bodies; ++b)
      votes |= table.bodies[b].kind == PMRT_REDUCE ||
               table.bodies[b].kind == PMRT_UPDATE;
  }
}

/// What two members do not agree on, or nothing.
static std::string difference(const pmrt_instruction &a,
                              const pmrt_instruction &b) {
  auto number = [](const char *what, uint64_t x, uint64_t y) {
    return x == y ? std::string() : cat(what, " ", x, " and ", y);
  };
  if (a.opcode != b.opcode)
    return cat(opcodeText(a.opcode), " and ", opcodeText(b.opcode));
  if (dtypeOf(a) != dtypeOf(b))
    return cat(dtypeText(dtypeOf(a)), " and ", dtypeText(dtypeOf(b)));
  std::string text = number("operands", a.num_operands, b.num_operands);
  auto add = [&](const char *what, uint64_t x, uint64_t y) {
    if (text.empty())
      text = number(what, x, y);
  };
  if (a.opcode == PMRT_OP_ALL_TO_ALL) {
    const auto &x = *static_cast<const pmrt_all_to_all *>(a.descriptor);
    const auto &y = *static_cast<const pmrt_all_to_all *>(b.descriptor);
    add("sequence", x.sequence, y.sequence);
    add("split_first", x.split_first, y.split_first);
    add("outer", x.outer, y.outer);
    add("middle", x.middle, y.middle);
    add("inner", x.inner, y.inner);
    add("split_size", x.split_size, y.split_size);
    add("split_piece", x.split_piece, y.split_piece);
    add("concat_size", x.concat_size, y.concat_size);
    add("concat_piece", x.concat_piece, y.concat_piece);
    return text;
  }
  if (a.opcode == PMRT_OP_PERMUTE) {
    const auto &x = *static_cast<const pmrt_permute *>(a.descriptor);
    const auto &y = *static_cast<const pmrt_permute *>(b.descriptor);
    add("sequence", x.sequence, y.sequence);
    add("count", x.count, y.count);
    add("parts", x.num_parts, y.num_parts);
    for (uint64_t i = 0; text.empty() && i < x.num_parts * x.num_members; ++i)
      add("source", static_cast<uint64_t>(x.sources[i]),
          static_cast<uint64_t>(y.sources[i]));
    return text;
  }
  const auto &x = *static_cast<const pmrt_collective *>(a.descriptor);
  const auto &y = *static_cast<const pmrt_collective *>(b.descriptor);
  static const char *const reductions[] = {"sum", "max", "min"};
  if (text.empty() && a.opcode != PMRT_OP_ALL_GATHER &&
      x.reduction != y.reduction)
    return cat("the ", reductions[x.reduction], " and the ",
               reductions[y.reduction]);
  add("sequence", x.sequence, y.sequence);
  uint32_t counts = a.opcode == PMRT_OP_ALL_REDUCE ? a.num_operands : 2;
  for (uint32_t i = 0; text.empty() && i < counts; ++i)
    add("count", x.counts[i], y.counts[i]);
  if (a.opcode != PMRT_OP_ALL_REDUCE)
    add("outer", x.outer, y.outer);
  return text;
}

/// The members of each place come to the same collectives in the same order.
void OrderCheck::compareCollectives() const {
  for (uint32_t place = 0; place < events.places.size(); ++place) {
    std::vector<std::vector<Coming>> comings;
    for (uint32_t member : events.places[place].members) {
      std::vector<Coming> &list = comings.emplace_back();
      const pmrt_role &table = tables.roles[member].table;
      for (uint64_t a = 0; a < table.num_actions; ++a)
        if (table.actions[a].kind == PMRT_RUN)
          for (auto [i, at] : spanning[member][table.actions[a].index])
            if (at == place)
              list.push_back({table.actions[a].index, a, i});
    }
    auto text = [&](size_t member, const Coming &coming) {
      const Role &role = tables.roles[events.places[place].members[member]];
      return cat(describe(role, coming.body, coming.instruction),
                 " of micro-batch ",
                 role.table.actions[coming.action].micro_batch);
    };
    for (size_t member = 1; member < comings.size(); ++member) {
      const auto &first = comings[0], &other = comings[member];
      for (size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
        if (i >= first.size() || i >= other.size()) {
          bool more = i < first.size();
          refuse("collective", text(more ? 0 : member, more ? first[i] : other[i]),
                 " over ", events.places[place].name, " is met by no other of role ",
                 events.places[place].members[more ? member : 0],
                 ", which comes to ", (more ? other : first).size());
        }
        auto instruction = [&](size_t number, const Coming &coming)
            -> const pmrt_instruction & {
          return tables.roles[events.places[place].members[number]]
              .table.bodies[coming.body]
              .instructions[coming.instruction];
        };
        std::string differs =
            difference(instruction(0, first[i]), instruction(member, other[i]));
        if (!differs.empty())
          refuse("collective", "number ", i, " over ",
                 events.places[place].name, " is not the same on all: ",
                 differs, "\n  ", text(0, first[i]), "\n  ",
                 text(member, other[i]));
      }
    }
  }
}

/// Where a role waits for what all ranks think of the gradients: behind the last
/// run that changes no state, and what is sent there.
uint64_t OrderCheck::voteAt(const Role &role) const {
  uint64_t at = 0;
  for (uint64_t a = 0; a < role.table.num_actions; ++a) {
    const pmrt_action &action = role.table.actions[a];
    bool changes = false;
    if (action.kind == PMRT_RUN) {
      uint32_t kind = role.table.bodies[action.index].kind;
      changes = kind == PMRT_REDUCE || kind == PMRT_UPDATE;
    }
    if ((action.kind == PMRT_RUN && !changes) ||
        (action.kind == PMRT_SEND && at == a))
      at = a + 1;
  }
  return at;
}

void OrderCheck::makeEvents() {
  auto vote = static_cast<uint32_t>(events.places.size());
  if (votes && tables.roles.size() > 1) {
    events.places.push_back({"the vote", {}, true});
    for (const Role &role : tables.roles)
      events.places.back().members.push_back(role.number);
  }
  for (const Role &role : tables.roles) {
    std::vector<Event> &list = events.ofRole.emplace_back();
    uint64_t at = voteAt(role);
    for (uint64_t a = 0; a <= role.table.num_actions; ++a) {
      if (a == at && vote < events.places.size())
        list.push_back({Event::Meet, vote, a, 0});
      if (a == role.table.num_actions)
        break;
      const pmrt_action &action = role.table.actions[a];
      if (action.kind == PMRT_RUN)
        for (auto [i, place] : spanning[role.number][action.index])
          list.push_back({Event::Meet, place, a, i});
      else
        list.push_back({action.kind == PMRT_SEND ? Event::Send : Event::Receive,
                        channelOf(role, action), a, 0});
    }
  }
}

/// The same events, where a slot that was sent waits for its receive before it
/// is written again.
Events OrderCheck::withoutBuffers() const {
  Events more = events;
  for (const Role &role : tables.roles) {
    const pmrt_role &table = role.table;
    std::vector<bool> sent(table.num_buffers);
    for (const Event &event : events.ofRole[role.number])
      if (event.kind == Event::Send)
        sent[role.place[table.actions[event.action].index]] = true;
    std::vector<std::vector<uint32_t>> writes(table.num_bodies);
    for (uint32_t b = 0; b < table.num_bodies; ++b)
      for (const BufferUse &use : bodies[role.number][b].uses)
        if (!use.mayWrite.empty() && sent[role.place[use.buffer]])
          writes[b].push_back(use.buffer);
    // By place and slot: the transfers that are not known to be received.
    std::map<std::pair<uint32_t, uint32_t>,
             std::vector<std::pair<uint32_t, uint64_t>>>
        pending;
    std::vector<uint64_t> counts(events.channels.size());
    std::vector<Event> &list = more.ofRole[role.number];
    list.clear();
    auto await = [&](uint64_t a, uint32_t buffer, uint32_t slot) {
      auto found = pending.find({role.place[buffer], slot});
      if (found == pending.end())
        return;
      for (auto [channel, count] : found->second)
        list.push_back({Event::Await, channel, a, 0, count});
      pending.erase(found);
    };
    const Event *next = events.ofRole[role.number].data();
    const Event *end = next + events.ofRole[role.number].size();
    for (uint64_t a = 0; a <= table.num_actions; ++a) {
      if (a < table.num_actions) {
        const pmrt_action &action = table.actions[a];
        if (action.kind == PMRT_RUN) {
          bool once = runsOnce(table.bodies[action.index]);
          for (uint32_t buffer : writes[action.index]) {
            uint32_t slots = table.buffers[buffer].slots;
            if (!once)
              await(a, buffer, action.micro_batch % slots);
            for (uint32_t s = 0; once && s < slots; ++s)
              await(a, buffer, s);
          }
        } else if (action.kind == PMRT_RECEIVE) {
          await(a, action.index,
                action.micro_batch % table.buffers[action.index].slots);
        }
      }
      for (; next != end && next->action == a; ++next) {
        list.push_back(*next);
        if (next->kind != Event::Send)
          continue;
        uint32_t buffer = table.actions[a].index;
        pending[{role.place[buffer], table.actions[a].micro_batch %
                                         table.buffers[buffer].slots}]
            .push_back({next->index, ++counts[next->index]});
      }
    }
  }
  return more;
}

OrderFacts OrderCheck::run() {
  findChannels();
  matchTransfers();
  findPlaces();
  compareCollectives();
  makeEvents();
  OrderFacts facts;
  std::string cycle = findCycle(tables, events, &facts.inFlight);
  if (!cycle.empty())
    refuse("cycle", cycle);
  facts.channels = events.channels.size();
  for (const ChannelEnds &ends : events.channels)
    facts.transfers += ends.sends.size();
  for (const auto &list : events.ofRole)
    for (const Event &event : list)
      if (event.kind == Event::Meet &&
          events.places[event.index].members[0] ==
              static_cast<uint32_t>(&list - events.ofRole.data()))
        ++facts.meetings;
  facts.cycleWithoutBuffers = findCycle(tables, withoutBuffers(), nullptr);
  facts.needsNoBuffers = facts.cycleWithoutBuffers.empty();
  return facts;
}

OrderFacts checkOrder(const Tables &tables,
                      const std::vector<std::vector<BodyFacts>> &bodies) {
  return OrderCheck(tables, bodies).run();
}

} // namespace pipemesh::proof
