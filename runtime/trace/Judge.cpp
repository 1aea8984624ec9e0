//===- Judge.cpp - Reads a bundle and judges its traces -------------------===//

#include "trace/Judge.h"

#include "core/Roles.h"
#include "trace/Prove.h"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>

using json = nlohmann::ordered_json;

namespace pipemesh::trace {

namespace {

/// "ranks 0, 2 and 4".
std::string ranksText(const std::vector<size_t> &ranks) {
  constexpr size_t most = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i == most)
      return cat(text, " and ", ranks.size() - most, " more");
    text += cat(i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
  }
  return text;
}

/// One line for ranks that are alike.
std::string factsText(const Facts &facts) {
  const RankFacts &first = facts.ranks.front();
  std::string text =
      cat("proved for ", facts.ranks.size(),
          facts.ranks.size() == 1 ? " rank" : " ranks", " and ", first.steps,
          first.steps == 1 ? " step" : " steps", "\n  communicators ",
          facts.communicators,
          ": the same collectives on all members, transfers "
          "one to one, one order of launches, no wait without its end\n");
  uint64_t edges = 0, redundant = 0;
  for (const RankFacts &rank : facts.ranks) {
    edges += rank.eventEdges;
    redundant += rank.redundantEdges;
  }
  text += cat("  event edges ", edges, ", implied by the others ", redundant,
              edges ? cat(" (", std::fixed, std::setprecision(1),
                          100.0 * static_cast<double>(redundant) /
                              static_cast<double>(edges),
                          " %)")
                    : std::string(),
              "\n");
  auto lineOf = [](const RankFacts &rank) {
    return cat(": calls ", rank.calls, ", launches of a step ", rank.launches,
               rank.graphLaunches ? cat(", graph launches ", rank.graphLaunches)
                                  : std::string(),
               ", event edges ", rank.eventEdges, " (", rank.redundantEdges,
               " redundant), streams ", rank.streams, ", communicators ",
               rank.communicators, ", allocations ", rank.allocations, " of ",
               rank.bytes, " bytes\n");
  };
  std::vector<std::pair<std::string, std::vector<size_t>>> lines;
  for (size_t r = 0; r < facts.ranks.size(); ++r) {
    std::string line = lineOf(facts.ranks[r]);
    auto found = std::find_if(lines.begin(), lines.end(),
                              [&](const auto &one) { return one.first == line; });
    if (found == lines.end())
      found = lines.insert(lines.end(), {line, {}});
    found->second.push_back(r);
  }
  for (const auto &[line, ranks] : lines)
    text += "  " + ranksText(ranks) + line;
  return text;
}

json factsJson(const Facts &facts) {
  json ranks = json::array();
  for (const RankFacts &rank : facts.ranks)
    ranks.push_back({{"steps", rank.steps},
                     {"calls", rank.calls},
                     {"launches_per_step", rank.launches},
                     {"graph_launches", rank.graphLaunches},
                     {"event_edges", rank.eventEdges},
                     {"redundant_event_edges", rank.redundantEdges},
                     {"streams", rank.streams},
                     {"communicators", rank.communicators},
                     {"allocations", rank.allocations},
                     {"allocated_bytes", rank.bytes}});
  return {{"communicators", facts.communicators}, {"ranks", ranks}};
}

} // namespace

Verdict judgeTrace(const std::string &directory,
                   const std::string &bundle) noexcept {
  Refusals refusals;
  Verdict verdict;
  try {
    runtime::LoadedRoles loaded = runtime::loadRoles(bundle);
    Facts facts =
        proveTrace(directory, loaded.manifest, loaded.roles, refusals);
    json result = {{"proved", refusals.empty()}};
    result.update(factsJson(facts));
    json list = json::array();
    for (const Refusals::Refusal &refusal : refusals.refusals()) {
      verdict.text += refusal.rule + ": " + refusal.text + "\n";
      list.push_back({{"rule", refusal.rule}, {"text", refusal.text}});
    }
    result["refusals"] = list;
    verdict.json = result.dump(2) + "\n";
    verdict.proved = refusals.empty();
    if (verdict.proved)
      verdict.text = factsText(facts);
    else if (refusals.count() > Refusals::most)
      verdict.text += cat("and ", refusals.count() - Refusals::most, " more\n");
  } catch (const std::exception &error) {
    verdict = {false, std::string(error.what()) + "\n", ""};
  }
  return verdict;
}

} // namespace pipemesh::trace
