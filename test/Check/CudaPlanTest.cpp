//===- CudaPlanTest.cpp - Launches of random programs on GPUs -------------===//

#include "Samples.h"
#include "cuda/Accesses.h"
#include "cuda/Plan.h"
#include "host/Program.h"

#include <algorithm>

using namespace pipemesh;
using namespace pipemesh::cuda;
using namespace pipemesh::proof::test;

namespace {

constexpr pmrt_workspace workspaces[3] = {};
constexpr pmrt_device_code device = {nullptr, 0, 3, nullptr, workspaces};

/// A random program with pipeline stages, as for GPUs; null where the schedule does
/// not have the sizes.
std::unique_ptr<SampleProgram> makeProgram(uint32_t seed) {
  std::mt19937 random(seed);
  auto draw = [&](uint32_t least, uint32_t most) {
    return std::uniform_int_distribution<uint32_t>(least, most)(random);
  };
  llvm::ArrayRef<llvm::StringLiteral> names = schedule::getScheduleNames();
  std::string name =
      names[draw(0, static_cast<uint32_t>(names.size()) - 1)].str();
  std::optional<schedule::Schedule> made =
      scheduleOf(name, draw(2, 4), draw(0, 3), draw(1, 9));
  if (!made)
    return nullptr;
  SampleOptions options;
  options.schedule = std::move(*made);
  options.dp = 2;
  options.tp = 2;
  options.operations = draw(0, 6);
  options.loops = draw(0, 3) == 0;
  options.spanning = draw(0, 1);
  options.starts = draw(0, 1);
  options.seed = seed;
  auto program = std::make_unique<SampleProgram>(options);
  for (pmrt_role &role : program->tables)
    role.device = &device;
  return program;
}

std::vector<const pmrt_role *> rolesOf(const SampleProgram &program) {
  std::vector<const pmrt_role *> roles;
  for (const pmrt_role &role : program.tables)
    roles.push_back(&role);
  return roles;
}

/// Whether all roles come to the end of their lists where a transfer takes both ends at
/// once, as if each launch waited for its end.
bool runsThrough(const ClusterOrder &order,
                 const std::vector<const pmrt_role *> &roles) {
  std::vector<size_t> next(roles.size());
  auto head = [&](uint32_t role) -> const pmrt_action * {
    const auto &items = order.of(role);
    return next[role] < items.size() ? &roles[role]->actions[items[next[role]].action]
                                     : nullptr;
  };
  bool moved = true;
  while (moved) {
    moved = false;
    for (uint32_t role = 0; role < roles.size(); ++role)
      while (const pmrt_action *action = head(role)) {
        if (!order.of(role)[next[role]].copies && action->kind != PMRT_RUN) {
          const pmrt_action *other = head(action->peer);
          bool meets = other && !order.of(action->peer)[next[action->peer]].copies &&
                       other->kind != PMRT_RUN && other->kind != action->kind &&
                       other->peer == role && other->channel == action->channel &&
                       other->micro_batch == action->micro_batch;
          if (!meets)
            break;
          ++next[action->peer];
        }
        ++next[role];
        moved = true;
      }
  }
  for (uint32_t role = 0; role < roles.size(); ++role)
    if (head(role))
      return false;
  return true;
}

struct Touch {
  ArenaRange range;
  bool writes;
};

std::vector<Touch> touchesOf(const pmrt_role &role, const Launch &launch,
                             const std::vector<uint32_t> &accumulators) {
  std::vector<Touch> touches;
  if (launch.action == Launch::whole) {
    for (uint32_t index : accumulators) {
      const pmrt_buffer &buffer = role.buffers[index];
      for (uint64_t s = 0; s < buffer.slots; ++s)
        touches.push_back({{buffer.offset + s * buffer.slot_stride,
                            buffer.offset + s * buffer.slot_stride + buffer.bytes},
                           true});
    }
    return touches;
  }
  const pmrt_action &action = role.actions[launch.action];
  if (action.kind != PMRT_RUN) {
    ArenaRange range = rangeOf(role, action);
    // The copies lie behind everything.
    constexpr uint64_t behind = uint64_t(1) << 50;
    ArenaRange copy{behind + launch.copyAt,
                    behind + launch.copyAt + range.end - range.begin};
    if (launch.copies)
      return {{range, false}, {copy, true}};
    return {{launch.isCopied ? copy : range, action.kind == PMRT_RECEIVE}};
  }
  const pmrt_body &body = role.bodies[action.index];
  for (uint64_t i = 0; i < body.num_instructions; ++i)
    if (launch.instruction == Launch::whole || launch.instruction == i)
      for (uint32_t o = 0; o < body.instructions[i].num_operands; ++o) {
        const pmrt_operand &operand = body.instructions[i].operands[o];
        touches.push_back({rangeOf(role, operand, isOnce(body) ? 0 : action.micro_batch),
                           (operand.access & PMRT_WRITE) != 0});
      }
  return touches;
}

/// before[j][i]: launch i is done when launch j begins; from the streams and the
/// events alone.
std::vector<std::vector<bool>> orderOf(const Plan &plan) {
  const std::vector<Launch> &launches = plan.getLaunches();
  std::vector<std::vector<bool>> before(launches.size());
  std::vector<int64_t> last(plan.numStreams(), -1), recorded(plan.numEvents(), -1);
  for (size_t j = 0; j < launches.size(); ++j) {
    std::vector<bool> &own = before[j];
    own.resize(launches.size());
    auto add = [&](int64_t i) {
      if (i < 0)
        return;
      own[i] = true;
      for (size_t k = 0; k < launches.size(); ++k)
        if (before[i][k])
          own[k] = true;
    };
    add(last[launches[j].stream]);
    for (uint32_t w = 0; w < launches[j].waits; ++w) {
      int64_t at = recorded[plan.getWaits()[launches[j].firstWait + w]];
      EXPECT_GE(at, 0) << "launch " << j << " waits for what nothing records";
      add(at);
    }
    last[launches[j].stream] = static_cast<int64_t>(j);
    if (launches[j].records >= 0)
      recorded[launches[j].records] = static_cast<int64_t>(j);
  }
  return before;
}

TEST(CudaPlan, RandomProgramsAreOrderedByEventsAndRunThrough) {
  uint32_t made = 0, early = 0, copied = 0;
  uint64_t conflicts = 0;
  for (uint32_t seed = 0; made < 60; ++seed) {
    std::unique_ptr<SampleProgram> program = makeProgram(seed);
    if (!program)
      continue;
    ++made;
    std::vector<const pmrt_role *> roles = rolesOf(*program);
    ClusterOrder order(roles);
    ASSERT_TRUE(runsThrough(order, roles)) << "program " << seed;
    for (uint32_t r = 0; r < roles.size(); ++r) {
      std::vector<uint32_t> accumulators = accumulatorsOf(program->manifest.roles[r]);
      for (size_t i = 1; i < order.of(r).size(); ++i)
        early += order.of(r)[i].action < order.of(r)[i - 1].action;
      Plan plan(order, roles, r, accumulators);
      const std::vector<Launch> &launches = plan.getLaunches();
      std::vector<std::vector<bool>> before = orderOf(plan);
      std::vector<std::vector<Touch>> touches;
      for (const Launch &launch : launches) {
        copied += launch.copies;
        touches.push_back(touchesOf(*roles[r], launch, accumulators));
      }
      for (size_t j = 0; j < launches.size(); ++j)
        for (size_t i = 0; i < j; ++i) {
          if (launches[i].stream == launches[j].stream)
            continue;
          for (const Touch &a : touches[i])
            for (const Touch &b : touches[j])
              if ((a.writes || b.writes) && a.range.begin < b.range.end &&
                  b.range.begin < a.range.end) {
                ++conflicts;
                ASSERT_TRUE(before[j][i])
                    << "program " << seed << ", role " << r << ": launch " << j
                    << " does not wait for launch " << i;
              }
        }
    }
  }
  EXPECT_GT(early, 100u);
  EXPECT_GT(conflicts, 1000u);
  EXPECT_GT(copied, 10u);
}

TEST(CudaPlan, AccessesAreSplitAndJoined) {
  Accesses accesses;
  std::vector<Accesses::Earlier> before;
  auto touch = [&](uint64_t begin, uint64_t end, bool writes, uint32_t stream,
                   uint32_t number) {
    before.clear();
    accesses.touch(begin, end, writes, {stream, number}, before);
    std::vector<uint32_t> numbers;
    for (const Accesses::Earlier &one : before)
      numbers.push_back(one.operation);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
  };
  using Numbers = std::vector<uint32_t>;
  EXPECT_EQ(touch(10, 20, true, 0, 1), Numbers{});
  EXPECT_EQ(touch(0, 10, false, 0, 2), Numbers{});
  EXPECT_EQ(touch(15, 30, false, 1, 3), Numbers{1});
  EXPECT_EQ(touch(18, 19, false, 2, 4), Numbers{1});
  EXPECT_EQ(touch(0, 18, true, 3, 5), (Numbers{1, 2, 3}));
  EXPECT_EQ(touch(17, 19, true, 0, 6), (Numbers{1, 3, 4, 5}));
  EXPECT_EQ(touch(19, 40, true, 0, 7), (Numbers{1, 3}));
  EXPECT_EQ(touch(0, 40, false, 1, 8), (Numbers{5, 6, 7}));
  EXPECT_EQ(touch(40, 40, true, 1, 9), Numbers{});
}

} // namespace
