//===- PrintReport.cpp - a report as tables -------------------------------===//

#include "Report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace pipemesh;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
namespace json = llvm::json;

/// More ranks than these are printed as ranges.
static constexpr size_t kMostRanks = 64;

static std::string bytesText(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  unsigned unit = 0;
  while (bytes >= 1024 && unit < 4)
    bytes /= 1024, ++unit;
  return llvm::formatv(unit == 0 ? "{0:f0} {1}" : "{0:f2} {1}", bytes,
                       units[unit]);
}

static std::string text(int64_t number) { return std::to_string(number); }

namespace {
/// Rows of text in columns as wide as their widest entry; the first of them is
/// the heading.
class Table {
public:
  /// The first `left` columns are flush left, the others flush right; a column
  /// behind the last number may be flush left again.
  explicit Table(size_t left, bool lastIsLeft = false)
      : left(left), lastIsLeft(lastIsLeft) {}

  void add(SmallVector<std::string> row) { rows.push_back(std::move(row)); }

  void print(llvm::raw_ostream &os) const {
    SmallVector<size_t> widths;
    for (auto &row : rows)
      for (auto [i, cell] : llvm::enumerate(row)) {
        if (i >= widths.size())
          widths.push_back(0);
        widths[i] = std::max(widths[i], cell.size());
      }
    for (auto &row : rows) {
      std::string line = "  ";
      for (auto [i, cell] : llvm::enumerate(row)) {
        bool flushLeft = i < left || (lastIsLeft && i + 1 == row.size());
        std::string space(widths[i] - cell.size(), ' ');
        line += (i ? "  " : "") + (flushLeft ? cell + space : space + cell);
      }
      os << StringRef(line).rtrim() << "\n";
    }
  }

private:
  size_t left;
  bool lastIsLeft;
  SmallVector<SmallVector<std::string>> rows;
};
} // namespace

static void printMesh(const json::Object &report, llvm::raw_ostream &os) {
  os << "mesh\n";
  Table table(2);
  for (const json::Value &axis : *report.getArray("mesh"))
    table.add({axis.getAsObject()->getString("name")->str(),
               axis.getAsObject()->getString("kind")->str(),
               text(*axis.getAsObject()->getInteger("size"))});
  table.print(os);
}

/// Which part of the graph's work each axis divides.
static void printSharded(const json::Object &report, llvm::raw_ostream &os) {
  const json::Array *list = report.getArray("sharded");
  if (!list || list->empty())
    return;
  os << "work that the axes divide\n";
  Table table(1, /*lastIsLeft=*/true);
  table.add({"axis", "ops", "operations", "most of the rest"});
  for (const json::Value &value : *list) {
    const json::Object &entry = *value.getAsObject();
    std::string rest;
    for (const json::Value &whole : *entry.getArray("whole"))
      rest += (rest.empty() ? "" : ", ") +
              whole.getAsObject()->getString("op")->str();
    table.add({entry.getString("axis")->str(),
               llvm::formatv("{0:f1} %", *entry.getNumber("ops") * 100),
               llvm::formatv("{0:f1} %", *entry.getNumber("flops") * 100),
               rest});
  }
  table.print(os);
}

/// What is gathered, and why.
static void printGathers(const json::Object &report, llvm::raw_ostream &os) {
  const json::Array *list = report.getArray("gathers");
  if (!list || list->empty())
    return;
  os << "values that are gathered\n";
  Table table(2, /*lastIsLeft=*/true);
  table.add({"axes", "value", "bytes then", "in", "runs", "read by, because"});
  for (const json::Value &value : *list) {
    const json::Object &entry = *value.getAsObject();
    std::string axes;
    for (const json::Value &axis : *entry.getArray("axes"))
      axes += (axes.empty() ? "" : ",") + axis.getAsString()->str();
    std::string reasons;
    for (const json::Value &reason : *entry.getArray("for")) {
      const json::Object &one = *reason.getAsObject();
      std::string text = one.getString("reader")->str() + ": " +
                         one.getString("reason")->str();
      if (reasons.find(text) == std::string::npos)
        reasons += (reasons.empty() ? "" : "; ") + text;
    }
    table.add({axes, entry.getString("value")->str(),
               bytesText(*entry.getNumber("bytes")),
               entry.getString("function")->str(),
               text(*entry.getInteger("runs")), reasons});
  }
  table.print(os);
}

/// A line for each rank, or, of a large mesh, for each run of ranks that differ
/// on the innermost dimension only.
static void printRanks(const json::Object &report, llvm::raw_ostream &os) {
  const json::Array &ranks = *report.getArray("ranks");
  SmallVector<StringRef> labels;
  for (const json::Value &label : *report.getArray("dimensions"))
    labels.push_back(*label.getAsString());
  os << "ranks\n";
  Table table(0);
  SmallVector<std::string> heading{"rank"};
  for (StringRef label : labels)
    heading.push_back(label.str());
  table.add(heading);
  auto coordinate = [&](size_t rank, StringRef label) {
    return *ranks[rank].getAsObject()->getObject("coordinates")->getInteger(
        label);
  };
  bool grouped = ranks.size() > kMostRanks;
  for (size_t rank = 0; rank < ranks.size();) {
    size_t last = rank;
    while (grouped && last + 1 < ranks.size() &&
           llvm::all_of(ArrayRef(labels).drop_back(), [&](StringRef label) {
             return coordinate(last + 1, label) == coordinate(rank, label);
           }))
      ++last;
    SmallVector<std::string> row{
        last == rank ? text(rank) : text(rank) + "-" + text(last)};
    for (StringRef label : labels) {
      int64_t from = coordinate(rank, label), to = coordinate(last, label);
      row.push_back(from == to ? text(from) : text(from) + "-" + text(to));
    }
    table.add(row);
    rank = last + 1;
  }
  table.print(os);
}

/// Only of a cluster that is described: without one the seconds say little.
static void printTraffic(const json::Object &report, llvm::raw_ostream &os) {
  const json::Array *traffic = report.getArray("traffic");
  auto isPlaced = [](const json::Value &value) {
    return !value.getAsObject()->getArray("levels")->empty();
  };
  if (!traffic || llvm::none_of(*traffic, isPlaced))
    return;
  os << "axes on the cluster, by the rank that sends the most in a step\n";
  Table table(3);
  table.add({"axis", "size", "level", "GB/s", "us", "bytes", "ms"});
  for (const json::Value &value : *traffic) {
    const json::Object &axis = *value.getAsObject();
    std::string levels;
    for (const json::Value &level : *axis.getArray("levels"))
      levels += (levels.empty() ? "" : ", ") + level.getAsString()->str();
    table.add({axis.getString("axis")->str(), text(*axis.getInteger("size")),
               levels.empty() ? "several" : levels,
               llvm::formatv("{0:f1}", *axis.getNumber("bandwidth") / 1e9),
               llvm::formatv("{0:f1}", *axis.getNumber("latency") * 1e6),
               bytesText(*axis.getNumber("bytes")),
               llvm::formatv("{0:f3}", *axis.getNumber("seconds") * 1e3)});
  }
  table.print(os);
}

/// The layers of the stages, and what equal ones would take.
static void printBalance(const json::Object &report, llvm::raw_ostream &os) {
  const json::Object *balance = report.getObject("balance");
  if (!balance)
    return;
  os << "layers of the stages, by the simulated time of a step\n";
  Table table(2);
  table.add({"division", "layers", "ms"});
  for (auto [name, layers, seconds] :
       {std::tuple<StringRef, StringRef, StringRef>{"balanced", "layers",
                                                    "seconds"},
        {"equal", "equal_layers", "equal_seconds"}}) {
    std::string list;
    for (const json::Value &count : *balance->getArray(layers))
      list += (list.empty() ? "" : ":") + text(*count.getAsInteger());
    table.add({name.str(), list,
               llvm::formatv("{0:f4}", *balance->getNumber(seconds) * 1e3)});
  }
  table.print(os);
  double equal = *balance->getNumber("equal_seconds");
  if (equal > 0)
    os << llvm::formatv("  {0:f2} % less than equal layers take\n",
                        (1 - *balance->getNumber("seconds") / equal) * 100);
}

static void printMemory(const json::Array &roles, llvm::raw_ostream &os) {
  os << "memory of a rank\n";
  Table table(1);
  table.add({"role", "arena", "weights", "moments", "gradients", "activations",
             "inputs", "other", "scratch"});
  for (const json::Value &value : roles) {
    const json::Object &role = *value.getAsObject();
    SmallVector<std::string> row{role.getString("name")->str()};
    for (StringRef kind : {"arena", "weights", "moments", "gradients",
                           "activations", "inputs", "other", "scratch"})
      row.push_back(bytesText(*role.getObject("memory")->getNumber(kind)));
    table.add(row);
  }
  table.print(os);
}

static void printWork(const json::Array &roles, llvm::raw_ostream &os) {
  os << "operations of a rank in a step\n";
  Table shares(1);
  shares.add({"role", "ranks", "GFLOP", "share of the whole"});
  for (const json::Value &value : roles) {
    const json::Object &role = *value.getAsObject();
    shares.add({role.getString("name")->str(), text(*role.getInteger("ranks")),
                llvm::formatv("{0:f3}", *role.getNumber("flops") / 1e9),
                llvm::formatv("{0:f2} %", *role.getNumber("share") * 100)});
  }
  shares.print(os);
  os << "fragments of a rank in a step\n";
  Table table(2);
  // On GPUs alone there is a column for what cuDNN makes.
  bool hasAttention = false;
  for (const json::Value &value : roles)
    for (const json::Value &entry : *value.getAsObject()->getArray("fragments"))
      hasAttention |= *entry.getAsObject()->getInteger("cudnn_attention") != 0;
  SmallVector<std::string> heading{"role",         "fragment", "runs",
                                   "instructions", "gemms",    "kernels"};
  if (hasAttention)
    heading.push_back("attention by cuDNN");
  heading.append({"GFLOP of gemms", "of kernels"});
  table.add(std::move(heading));
  for (const json::Value &value : roles) {
    const json::Object &role = *value.getAsObject();
    for (const json::Value &entry : *role.getArray("fragments")) {
      const json::Object &body = *entry.getAsObject();
      SmallVector<std::string> row{role.getString("name")->str(),
                                   body.getString("name")->str(),
                                   text(*body.getInteger("runs")),
                                   text(*body.getInteger("instructions")),
                                   text(*body.getInteger("gemms")),
                                   text(*body.getInteger("kernels"))};
      if (hasAttention)
        row.push_back(text(*body.getInteger("cudnn_attention")));
      for (const char *kind : {"gemm_flops", "kernel_flops"})
        row.push_back(
            llvm::formatv("{0:f3}", *body.getNumber(kind) / 1e9).str());
      table.add(std::move(row));
    }
  }
  table.print(os);
}

static void printCommunication(const json::Array &roles,
                               llvm::raw_ostream &os) {
  os << "bytes that a rank sends in a step\n";
  struct Sum {
    int64_t bytes = 0, runs = 0;
  };
  Table sums(3), details(4, /*lastIsLeft=*/true);
  sums.add({"role", "axis", "kind", "bytes", "exchanges"});
  details.add({"role", "axis", "kind", "fragment", "bytes", "exchanges",
               "operand of one", "module"});
  bool any = false;
  for (const json::Value &value : roles) {
    const json::Object &role = *value.getAsObject();
    std::string name = role.getString("name")->str();
    std::map<std::pair<std::string, std::string>, Sum> byKind;
    for (const json::Value &item : *role.getArray("communication")) {
      const json::Object &entry = *item.getAsObject();
      std::string axis = entry.getString("axis")->str();
      std::string kind = entry.getString("kind")->str();
      Sum &sum = byKind[{axis, kind}];
      sum.bytes += *entry.getInteger("bytes");
      sum.runs += *entry.getInteger("runs");
      auto operand = entry.getNumber("operand_bytes");
      details.add({name, axis, kind, entry.getString("fragment")->str(),
                   bytesText(*entry.getNumber("bytes")),
                   text(*entry.getInteger("runs")),
                   operand ? bytesText(*operand) : "several",
                   entry.getString("module")->str()});
      any = true;
    }
    for (auto &[key, sum] : byKind)
      sums.add({name, key.first, key.second, bytesText(sum.bytes),
                text(sum.runs)});
  }
  if (!any) {
    os << "  none\n";
    return;
  }
  sums.print(os);
  os << "what causes them\n";
  details.print(os);
}

void pipemesh::printReport(const json::Object &report, llvm::raw_ostream &os) {
  const json::Array *roles = report.getArray("roles");
  if (!roles)
    return;
  printMesh(report, os);
  printRanks(report, os);
  printTraffic(report, os);
  printBalance(report, os);
  printMemory(*roles, os);
  printSharded(report, os);
  printGathers(report, os);
  printWork(*roles, os);
  printCommunication(*roles, os);
}
