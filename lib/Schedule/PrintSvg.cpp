//===- PrintSvg.cpp - a timeline as a picture -----------------------------===//

#include "pipemesh/Schedule/Print.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace pipemesh::schedule;

namespace {
/// Hue and lightness both differ, so that the kinds can be told apart in grey;
/// the second shade is for the later chunks of a rank.
struct Look {
  llvm::StringLiteral name;
  llvm::StringLiteral shades[2];
};
} // namespace

static constexpr Look looks[] = {
    {"forward (F)", {"#2b6cb0", "#63a4e0"}},
    {"input gradient (I)", {"#dd6b20", "#f4a86c"}},
    {"weight gradient (W)", {"#2f855a", "#74c69d"}},
    {"backward (B)", {"#9c4221", "#d08a6b"}},
    {"update (U)", {"#6b46c1", "#9f7fe0"}}};

static constexpr double left = 62, top = 8, height = 24, gap = 4;
static constexpr double widest = 1200, narrowest = 320;

/// Short, for a picture has a box for each action: the look is in the style
/// sheet.
static void printStyle(llvm::raw_ostream &os) {
  os << "<style>text{font:11px sans-serif;fill:#1a202c}rect{stroke:#fff;"
        "stroke-width:.5}.idle{fill:#edf0f4}.n{text-anchor:middle}.w{fill:#"
        "fff}";
  for (auto [i, look] : llvm::enumerate(looks))
    for (int shade : {0, 1})
      os << "." << getLetter(static_cast<ActionKind>(i)) << shade
         << "{fill:" << look.shades[shade] << "}";
  os << "</style>\n";
}

static std::string shorten(double value) {
  return llvm::StringRef(llvm::formatv("{0:F2}", value).str())
      .rtrim('0')
      .rtrim('.')
      .str();
}

static void printBox(llvm::raw_ostream &os, double x, double y, double width,
                     double boxHeight, const Action &action, bool isLater,
                     const Interval &time) {
  os << llvm::formatv("<rect class=\"{0}{1}\" x=\"{2}\" y=\"{3}\" "
                      "width=\"{4}\" height=\"{5}\"><title>{6}: {7} to {8}"
                      "</title></rect>\n",
                      getLetter(action.kind), int(isLater), shorten(x),
                      shorten(y), shorten(width), shorten(boxHeight),
                      action.str(), shorten(time.start), shorten(time.end));
  std::string label = action.kind == ActionKind::Update
                          ? "U"
                          : std::to_string(action.microBatch);
  if (width > 6.0 * label.size())
    os << llvm::formatv("<text class=\"n{0}\" x=\"{1}\" y=\"{2}\">{3}</text>\n",
                        isLater ? "" : " w", shorten(x + width / 2),
                        shorten(y + boxHeight / 2 + 4), label);
}

void pipemesh::schedule::printSvg(const Schedule &schedule,
                                  const Timeline &timeline,
                                  llvm::raw_ostream &os) {
  int64_t ranks = schedule.getNumRanks();
  double makespan = std::max(timeline.makespan, 1e-9);
  // The shortest action shows its number, if the whole then fits.
  double shortest = makespan;
  bool isUsed[std::size(looks)] = {};
  for (auto [list, items] : llvm::zip(schedule.lists, timeline.items))
    for (auto [item, time] : llvm::zip(list, items)) {
      if (time.end > time.start)
        shortest = std::min(shortest, time.end - time.start);
      isUsed[static_cast<int>(item.action.kind)] = true;
      if (item.partner)
        isUsed[static_cast<int>(item.partner->kind)] = true;
    }
  double scale =
      std::clamp(makespan * 18 / shortest, narrowest, widest) / makespan;
  double width = left + makespan * scale + 8;
  double bottom = top + ranks * (height + gap);
  os << llvm::formatv("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
                      "height=\"{1}\">\n",
                      shorten(std::max(width, 560.0)), shorten(bottom + 44));
  printStyle(os);
  os << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  for (int64_t rank = 0; rank < ranks; ++rank) {
    double y = top + rank * (height + gap);
    os << llvm::formatv("<text x=\"8\" y=\"{0}\">rank {1}</text>\n<rect "
                        "class=\"idle\" x=\"{2}\" y=\"{3}\" width=\"{4}\" "
                        "height=\"{5}\"/>\n",
                        shorten(y + height / 2 + 4), rank, shorten(left),
                        shorten(y), shorten(makespan * scale), shorten(height));
    std::vector<int64_t> stages = schedule.getStagesOf(rank);
    for (size_t i = 0; i < schedule.lists[rank].size(); ++i) {
      const Item &item = schedule.lists[rank][i];
      const Interval &time = timeline.items[rank][i];
      double boxHeight = item.partner ? height / 2 : height;
      auto print = [&](const Action &action, double y) {
        printBox(os, left + time.start * scale, y,
                 (time.end - time.start) * scale, boxHeight, action,
                 action.stage != stages.front(), time);
      };
      print(item.action, y);
      if (item.partner)
        print(*item.partner, y + boxHeight);
    }
  }
  double x = left;
  for (auto [i, look] : llvm::enumerate(looks)) {
    if (!isUsed[i])
      continue;
    os << llvm::formatv(
        "<rect class=\"{0}0\" x=\"{1}\" y=\"{2}\" width=\"10\" "
        "height=\"10\"/>\n<text x=\"{3}\" y=\"{4}\">{5}</text>\n",
        getLetter(static_cast<ActionKind>(i)), shorten(x), shorten(bottom + 6),
        shorten(x + 14), shorten(bottom + 15), look.name);
    x += 14 + 7.0 * look.name.size();
  }
  os << llvm::formatv("<text x=\"{0}\" y=\"{1}\">makespan {2}, longest span "
                      "{3}, bubble {4:P1}{5}</text>\n</svg>\n",
                      shorten(left), shorten(bottom + 34),
                      shorten(timeline.makespan),
                      shorten(timeline.getLongestSpan()), timeline.bubble,
                      schedule.getNumStages() > ranks
                          ? "; the lighter shade is for later chunks"
                          : "");
}
