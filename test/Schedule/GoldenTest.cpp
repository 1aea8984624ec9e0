//===- GoldenTest.cpp - schedules against PyTorch's and the paper's -------===//

#include "Fixture.h"
#include "pipemesh/Schedule/ZeroBubble.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace pipemesh::schedule;
namespace json = llvm::json;

static std::string printGolden(const json::Value &item) {
  if (auto text = item.getAsString())
    return text->str();
  const json::Array &pair = *item.getAsArray();
  return "(" + pair[1].getAsString()->str() + ";" +
         pair[2].getAsString()->str() + ")OVERLAP_F_B";
}

template <typename T>
static void expectNumbers(const json::Object &golden, llvm::StringRef key,
                          const std::vector<T> &values) {
  const json::Array &expected = *golden.getArray(key);
  ASSERT_EQ(expected.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(double(values[i]), *expected[i].getAsNumber())
        << key.str() << " of rank " << i;
}

TEST(Golden, ActionsTimesAndPeaksAreEqual) {
  json::Value goldens = take(json::parse(readInput("schedules.json")));
  ASSERT_EQ(goldens.getAsArray()->size(), 9u);
  for (const json::Value &value : *goldens.getAsArray()) {
    const json::Object &golden = *value.getAsObject();
    std::string name = golden.getString("schedule")->str();
    SCOPED_TRACE(name);
    Schedule schedule =
        take(generate(makeRequest(name, *golden.getInteger("ranks"),
                                  *golden.getInteger("chunks_per_rank"),
                                  *golden.getInteger("microbatches"))));
    const json::Array &actions = *golden.getArray("actions");
    ASSERT_EQ(int64_t(actions.size()), schedule.getNumRanks());
    for (size_t rank = 0; rank < actions.size(); ++rank) {
      std::string expected;
      for (const json::Value &item : *actions[rank].getAsArray())
        expected += (expected.empty() ? "" : " ") + printGolden(item);
      EXPECT_EQ(print(schedule.lists[rank]), expected) << "rank " << rank;
    }
    Timeline timeline = take(simulate(schedule));
    EXPECT_EQ(timeline.makespan, *golden.getNumber("makespan"));
    expectNumbers(golden, "span", timeline.span);
    expectNumbers(golden, "busy", timeline.busy);
    expectNumbers(golden, "peak_until_weight_grad",
                  timeline.peakUntilWeightGradient);
    expectNumbers(golden, "peak_until_input_grad",
                  timeline.peakUntilInputGradient);
  }
}

//===----------------------------------------------------------------------===//
// Bubble rates of the Zero Bubble paper, table 5
//===----------------------------------------------------------------------===//

namespace {
struct Row {
  llvm::StringMap<double> values;
  double operator[](llvm::StringRef name) const { return values.lookup(name); }

  int64_t ranks() const { return (*this)["ranks"]; }
  int64_t microBatches() const { return (*this)["microbatches"]; }
  StageCosts costs(double parts = 1) const {
    StageCosts costs;
    costs.forward = (*this)["F_ms"] / parts;
    costs.input = (*this)["I_ms"] / parts;
    costs.weight = (*this)["W_ms"] / parts;
    costs.transfer = (*this)["comm_ms"];
    double hidden = (*this)["hidden"];
    costs.activation = 34 * hidden + 5 * (*this)["heads"] * (*this)["seq"];
    costs.kept = 32 * hidden;
    return costs;
  }
  double work() const {
    StageCosts one = costs();
    return microBatches() * (one.forward + one.input + one.weight);
  }
  double rate(const Schedule &schedule, const StageCosts &costs) const {
    double span = take(simulate(schedule, Costs(costs))).getLongestSpan();
    return (span - work()) / span;
  }
};
} // namespace

static std::vector<Row> readRates() {
  std::vector<Row> rows;
  std::string text = readInput("zero_bubble_rates.csv");
  llvm::SmallVector<llvm::StringRef> lines, header;
  llvm::StringRef(text).trim().split(lines, '\n');
  lines.front().trim().split(header, ',');
  for (llvm::StringRef line : llvm::ArrayRef(lines).drop_front()) {
    llvm::SmallVector<llvm::StringRef> cells;
    line.trim().split(cells, ',');
    Row &row = rows.emplace_back();
    for (size_t i = 1; i < cells.size(); ++i)
      EXPECT_FALSE(cells[i].getAsDouble(row.values[header[i]]));
  }
  return rows;
}

static double round4(double value) { return std::round(value * 1e4) / 1e4; }

TEST(ZeroBubbleRates, SchedulesByHandAreAsInTheTable) {
  std::vector<Row> rows = readRates();
  ASSERT_EQ(rows.size(), 6u);
  for (const Row &row : rows)
    for (auto [name, column] :
         {std::pair("1f1b", "rate_1f1b"), std::pair("zb-h1", "rate_zb_h1"),
          std::pair("zb-h2", "rate_zb_h2")}) {
      Schedule schedule =
          take(generate(makeRequest(name, row.ranks(), 1, row.microBatches())));
      EXPECT_DOUBLE_EQ(round4(row.rate(schedule, row.costs())), row[column])
          << name << " with " << row.microBatches() << " micro-batches";
    }
}

TEST(ZeroBubbleRates, InterleavedIsByItsClosedForm) {
  for (const Row &row : readRates()) {
    StageCosts costs = row.costs();
    double P = row.ranks(), v = row["chunks_interleaved"];
    double idle = (P - 1) * (costs.forward + costs.input + costs.weight) / v +
                  (2 * (P * v - 1) - P) * costs.transfer;
    EXPECT_DOUBLE_EQ(round4(idle / (idle + row.work())),
                     row["rate_interleaved"]);
    // Transfers also lie between F and B in the steady state, which the closed
    // form leaves out.
    Schedule schedule = take(generate(
        makeRequest("interleaved-1f1b", row.ranks(), v, row.microBatches())));
    double simulated = row.rate(schedule, row.costs(v));
    EXPECT_GT(simulated, row["rate_interleaved"]);
    EXPECT_LT(simulated, row["rate_interleaved"] * 1.04);
  }
}

TEST(ZeroBubbleRates, AutomaticSchedulesAreNoWorseThanTheTable) {
  for (const Row &row : readRates())
    for (int limit : {1, 2}) {
      StageCosts costs = row.costs();
      Request request =
          makeRequest("zb-auto", row.ranks(), 1, row.microBatches());
      request.costs = Costs(costs);
      request.memoryLimit = limit * row.ranks() * costs.activation;
      Schedule schedule = take(generate(request));
      EXPECT_LE(round4(row.rate(schedule, costs)),
                row[limit == 1 ? "rate_zb_1p" : "rate_zb_2p"])
          << limit << "p with " << row.microBatches() << " micro-batches";
      for (double peak : take(simulate(schedule, request.costs)).peakMemory)
        EXPECT_LE(peak, *request.memoryLimit * (1 + 1e-9));
    }
}
