//===- Strategy.cpp - the strategy string ---------------------------------===//

#include "Strategy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace pipemesh;
using llvm::Twine;

/// Words that the strategy language has, but this version does not compile.
static constexpr llvm::StringLiteral laterWords[] = {
    "tp", "pp", "ep", "cp", "sp", "zero", "schedule"};

int64_t Strategy::sizeOf(StringRef name) const {
  for (const StrategyAxis &axis : axes)
    if (axis.name == name)
      return axis.size;
  return 1;
}

FailureOr<Strategy> pipemesh::parseStrategy(StringRef text,
                                            std::string &error) {
  auto fail = [&](const Twine &message) -> FailureOr<Strategy> {
    error = message.str();
    return failure();
  };
  Strategy strategy;
  if (text.trim().empty())
    return strategy;
  SmallVector<StringRef> items;
  text.split(items, ',');
  for (StringRef item : items) {
    auto [name, value] = item.split('=');
    name = name.trim();
    value = value.trim();
    if (name.empty() || value.empty())
      return fail("strategy '" + text +
                  "': expected word=size, such as dp=2, "
                  "but found '" +
                  item.trim() + "'");
    if (llvm::is_contained(laterWords, name))
      return fail("strategy '" + text + "': '" + name +
                  "' is a strategy of a later version; this one has dp and mb");
    if (name != "dp" && name != "mb")
      return fail("strategy '" + text + "': unknown word '" + name +
                  "'; known are dp (data parallel ranks) and mb "
                  "(micro-batches)");
    for (const StrategyAxis &axis : strategy.axes)
      if (axis.name == name)
        return fail("strategy '" + text + "': '" + name +
                    "' is given twice, as " + Twine(axis.size) + " and as '" +
                    value + "'");
    int64_t size = 0;
    if (value.getAsInteger(10, size) || value.starts_with("+"))
      return fail("strategy '" + text + "': the size of '" + name +
                  "' must be a whole number, but is '" + value + "'");
    if (size < 1)
      return fail("strategy '" + text + "': '" + name +
                  "' must be at least 1, but is " + Twine(size));
    if (size > (int64_t(1) << 20))
      return fail("strategy '" + text + "': '" + name + "' is " + Twine(size) +
                  ", but at most 1048576 are possible");
    strategy.axes.push_back({name.str(), size});
  }
  return strategy;
}
