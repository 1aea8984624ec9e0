// Custom calls, and the shardings that older exports write as strings:
// "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}" lays the devices out as
// 4 x 2, transposes them, and cuts dimension 0 over the first two of the result;
// what is left repeats. The tiles of all strings together say where the axes of
// one mesh end.
#include "CustomCalls.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace mlir;
using namespace pipemesh;
namespace shlo = pipemesh::stablehlo;

LogicalResult pipemesh::importCustomCall(shlo::CustomCallOp call, MeshMap &) {
  return call.emitError() << "custom_call @" << call.getCallTargetName()
                          << " names code that is not in the module, and "
                             "cannot be compiled";
}

namespace {

/// Distances between devices, from `low` to below `high`.
struct Range {
  int64_t low, high;
};

/// One string: for each dimension the ranges it is cut over, major to minor.
struct Tiling {
  SmallVector<SmallVector<Range>> dims;
  int64_t devices = 1;
};

} // namespace

/// `[2,1,4]`, positive numbers whose product is small enough.
static bool consumeList(StringRef &text, SmallVectorImpl<int64_t> &list,
                        char open, char close) {
  if (text.empty() || text.front() != open)
    return false;
  text = text.drop_front();
  int64_t product = 1;
  do {
    int64_t value;
    if (text.consumeInteger(10, value) || value < 0 ||
        (value > 0 && product > (int64_t(1) << 40) / value))
      return false;
    product *= std::max<int64_t>(value, 1);
    list.push_back(value);
  } while (text.consume_front(","));
  return text.consume_front(StringRef(&close, 1));
}

/// The layout of the devices: `<=[4,2]T(1,0)`, or all numbers in order.
static bool parseDevices(StringRef &text, int64_t count,
                         SmallVectorImpl<Range> &order) {
  SmallVector<int64_t> sizes, permutation;
  if (!text.consume_front("<=")) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t id;
      if (text.consumeInteger(10, id) || id != i)
        return false;
      text.consume_front(",");
    }
    order.push_back({1, count});
    return true;
  }
  if (!consumeList(text, sizes, '[', ']'))
    return false;
  if (text.consume_front("T") && !consumeList(text, permutation, '(', ')'))
    return false;
  if (permutation.empty())
    permutation.assign(llvm::seq<int64_t>(0, sizes.size()).begin(),
                       llvm::seq<int64_t>(0, sizes.size()).end());
  SmallVector<Range> ranges(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] < 1)
      return false;
    ranges[i] = {stride, stride * sizes[i]};
    stride *= sizes[i];
  }
  if (stride != count || permutation.size() != sizes.size())
    return false;
  SmallVector<bool> seen(sizes.size(), false);
  for (int64_t from : permutation) {
    if (from < 0 || from >= int64_t(sizes.size()) || seen[from])
      return false;
    seen[from] = true;
    order.push_back(ranges[from]);
  }
  return true;
}

/// The string's tiling of a value of `rank` dimensions; none where it is not
/// understood.
static std::optional<Tiling> parseTiling(StringRef text, int64_t rank) {
  Tiling tiling;
  tiling.dims.resize(rank);
  if (!text.consume_front("{") || !text.consume_back("}"))
    return std::nullopt;
  if (text == "replicated" || text.starts_with("maximal"))
    return tiling;
  SmallVector<int64_t> tiles;
  SmallVector<Range> order;
  if (!text.consume_front("devices=") || !consumeList(text, tiles, '[', ']'))
    return std::nullopt;
  for (int64_t tile : tiles) {
    if (tile < 1)
      return std::nullopt;
    tiling.devices *= tile;
  }
  if (!parseDevices(text, tiling.devices, order))
    return std::nullopt;
  bool repeats = text.consume_front(" last_tile_dim_replicate");
  if (!text.empty() || int64_t(tiles.size()) != rank + repeats)
    return std::nullopt;
  // Dimensions take their tiles from the devices in order.
  size_t next = 0;
  for (int64_t dim = 0; dim < rank; ++dim)
    for (int64_t left = tiles[dim]; left > 1;) {
      while (next < order.size() && order[next].low == order[next].high)
        ++next;
      if (next == order.size())
        return std::nullopt;
      Range &range = order[next];
      int64_t size = range.high / range.low;
      int64_t taken = std::min(left, size);
      if (left % taken != 0 || size % taken != 0)
        return std::nullopt;
      tiling.dims[dim].push_back({range.high / taken, range.high});
      range.high /= taken;
      left /= taken;
    }
  return tiling;
}

/// `unspecified_dims=[1]` of a `@Sharding` call's configuration.
static bool isUnspecified(shlo::CustomCallOp call, int64_t dim) {
  auto config = call->getAttrOfType<StringAttr>("backend_config");
  if (!config)
    return false;
  StringRef text = config.getValue();
  size_t at = text.find("unspecified_dims=");
  if (at == StringRef::npos)
    return false;
  text = text.substr(at + strlen("unspecified_dims="));
  SmallVector<int64_t> dims;
  return consumeList(text, dims, '[', ']') && llvm::is_contained(dims, dim);
}

namespace {

/// The strings of a module, and the axes that they make.
class Strings {
public:
  explicit Strings(ModuleOp module) : module(module) {}
  LogicalResult run();

private:
  LogicalResult add(Location location, Attribute attr, Type type);
  LogicalResult makeMesh();
  sdy::ShardingAttr make(const Tiling &tiling,
                         llvm::function_ref<bool(int64_t)> isOpen);

  ModuleOp module;
  /// By string and rank.
  DenseMap<std::pair<Attribute, int64_t>, Tiling> tilings;
  std::set<int64_t> borders{1};
  SmallVector<std::pair<Range, StringAttr>> axes;
};

} // namespace

static int64_t rankOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getRank() : 0;
}

LogicalResult Strings::add(Location location, Attribute attr, Type type) {
  auto text = dyn_cast<StringAttr>(attr);
  auto tiling = text ? parseTiling(text.getValue(), rankOf(type))
                     : std::optional<Tiling>();
  if (!tiling)
    return emitError(location)
           << "the sharding " << attr << " of a value of type " << type
           << " is not understood; a newer jax writes shardings with meshes";
  for (ArrayRef<Range> dim : tiling->dims)
    for (Range range : dim) {
      borders.insert(range.low);
      borders.insert(range.high);
    }
  borders.insert(tiling->devices);
  tilings[{attr, rankOf(type)}] = std::move(*tiling);
  return success();
}

LogicalResult Strings::makeMesh() {
  SmallVector<int64_t> ends(borders.begin(), borders.end());
  for (size_t i = 1; i < ends.size(); ++i)
    if (ends[i] % ends[i - 1] != 0)
      return module.emitError()
             << "the mhlo.sharding strings cut the devices in ways that no one "
                "mesh has (after "
             << ends[i - 1] << " and after " << ends[i] << ")";
  MLIRContext *context = module.getContext();
  SmallVector<sdy::MeshAxisAttr> list;
  for (size_t i = ends.size(); i-- > 1;) {
    auto name =
        StringAttr::get(context, "_axis_" + Twine(ends.size() - 1 - i));
    axes.push_back({{ends[i - 1], ends[i]}, name});
    list.push_back(
        sdy::MeshAxisAttr::get(context, name, ends[i] / ends[i - 1]));
  }
  if (list.empty())
    return success();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  sdy::MeshOp::create(builder, module.getLoc(), "mesh",
                      sdy::MeshAttr::get(context, list, {}));
  return success();
}

sdy::ShardingAttr Strings::make(const Tiling &tiling,
                                llvm::function_ref<bool(int64_t)> isOpen) {
  MLIRContext *context = module.getContext();
  SmallVector<sdy::DimensionShardingAttr> dims;
  for (auto [i, ranges] : llvm::enumerate(tiling.dims)) {
    SmallVector<sdy::AxisRefAttr> refs;
    for (Range range : ranges)
      for (auto &[part, name] : axes)
        if (part.low >= range.low && part.high <= range.high)
          refs.push_back(sdy::AxisRefAttr::get(context, name, 1, 0));
    dims.push_back(
        sdy::DimensionShardingAttr::get(context, refs, isOpen(i), -1));
  }
  return sdy::ShardingAttr::get(context,
                                FlatSymbolRefAttr::get(context, "mesh"), dims,
                                {}, {});
}

LogicalResult Strings::run() {
  SmallVector<shlo::CustomCallOp> calls;
  bool found = false;
  auto addAll = [&](func::FuncOp function, ArrayAttr list,
                    TypeRange types) -> LogicalResult {
    for (auto [dictionary, type] :
         llvm::zip(list ? list.getValue() : ArrayRef<Attribute>(), types))
      if (Attribute attr = cast<DictionaryAttr>(dictionary).get("mhlo.sharding")) {
        found = true;
        if (failed(add(function.getLoc(), attr, type)))
          return failure();
      }
    return success();
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    if (failed(addAll(function, function.getArgAttrsAttr(),
                      function.getArgumentTypes())) ||
        failed(addAll(function, function.getResAttrsAttr(),
                      function.getResultTypes())))
      return failure();
    function.walk([&](shlo::CustomCallOp call) {
      if (call.getCallTargetName() == "Sharding")
        calls.push_back(call);
    });
  }
  for (shlo::CustomCallOp call : calls) {
    if (call->getNumOperands() != 1 || call->getNumResults() != 1 ||
        call->getOperand(0).getType() != call->getResult(0).getType())
      return call.emitError() << "custom_call @Sharding is not the identity";
    Attribute attr = call->getAttr("mhlo.sharding");
    if (!attr)
      return call.emitError() << "custom_call @Sharding has no mhlo.sharding";
    if (failed(add(call.getLoc(), attr, call->getResult(0).getType())))
      return failure();
  }
  if (!found && calls.empty())
    return success();
  if (failed(makeMesh()))
    return failure();
  for (shlo::CustomCallOp call : calls) {
    Type type = call->getResult(0).getType();
    OpBuilder builder(call);
    const Tiling &tiling =
        tilings[{call->getAttr("mhlo.sharding"), rankOf(type)}];
    Value value = call->getOperand(0);
    if (!axes.empty())
      value = sdy::ShardingConstraintOp::create(
          builder, call.getLoc(), type, value,
          make(tiling, [&](int64_t dim) { return isUnspecified(call, dim); }));
    call->getResult(0).replaceAllUsesWith(value);
    call.erase();
  }
  auto rewriteAll = [&](ArrayAttr list, TypeRange types) -> ArrayAttr {
    if (!list || axes.empty())
      return list;
    SmallVector<Attribute> result;
    for (auto [dictionary, type] : llvm::zip(list, types)) {
      NamedAttrList entries(cast<DictionaryAttr>(dictionary));
      if (Attribute attr = entries.erase("mhlo.sharding"))
        entries.set(sdy::kShardingAttr,
                    make(tilings[{attr, rankOf(type)}],
                         [](int64_t) { return false; }));
      result.push_back(entries.getDictionary(module.getContext()));
    }
    return ArrayAttr::get(module.getContext(), result);
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    if (ArrayAttr list = rewriteAll(function.getArgAttrsAttr(),
                                    function.getArgumentTypes()))
      function.setArgAttrsAttr(list);
    if (ArrayAttr list = rewriteAll(function.getResAttrsAttr(),
                                    function.getResultTypes()))
      function.setResAttrsAttr(list);
  }
  return success();
}

LogicalResult pipemesh::addShardingsOfStrings(ModuleOp module) {
  for (auto mesh : module.getOps<sdy::MeshOp>())
    if (!mesh.getMesh().getAxes().empty())
      return success();
  return Strings(module).run();
}
