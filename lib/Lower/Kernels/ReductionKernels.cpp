//===- ReductionKernels.cpp - reductions by the index of a result ---------===//
//
// Reductions of several tensors or with any region, of windows, convolutions and
// products of matrices that the host's library does not know. Each element of
// the results is computed by itself.
//
//===----------------------------------------------------------------------===//

#include "KernelCode.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pipemesh;

using Indices = SmallVector<Value>;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static SmallVector<Type> registerTypes(ValueRange values) {
  SmallVector<Type> types;
  for (Value value : values)
    types.push_back(getRegisterType(typeOf(value).getElementType()));
  return types;
}

namespace {

/// Inputs that a region joins into results, which may be of wider types.
class Joiner {
public:
  Joiner(KernelCode &code, ValueRange inputs, ValueRange results,
         Region &region)
      : code(code), inputs(inputs), results(results), region(region) {}

  /// The initial values.
  Indices start(ValueRange inits) {
    Indices values;
    for (auto [init, result] : llvm::zip(inits, results))
      values.push_back(cast(code.loadElement(init, code.index(0)), init,
                            result));
    return values;
  }

  /// Joins element `position` of the inputs.
  Indices join(ValueRange sums, Value position) {
    Indices arguments(sums.begin(), sums.end());
    for (auto [input, result] : llvm::zip(inputs, results))
      arguments.push_back(
          cast(code.loadElement(input, position), input, result));
    FailureOr<Indices> joined = emitScalarRegion(code, region, arguments);
    if (succeeded(joined))
      return *joined;
    failed = true;
    return Indices(sums.begin(), sums.end());
  }

  void store(ValueRange values, Value position) {
    for (auto [index, value] : llvm::enumerate(values))
      code.storeElement(index, typeOf(results[index]).getElementType(), value,
                        position);
  }

  bool failed = false;

private:
  KernelCode &code;
  ValueRange inputs, results;
  Region &region;

  Value cast(Value value, Value from, Value to) {
    return emitCast(code.builder, code.loc, value,
                    typeOf(from).getElementType(),
                    typeOf(to).getElementType());
  }
};

} // namespace

LogicalResult pipemesh::emitReduceKernel(KernelCode &code,
                                         stablehlo::ReduceOp op,
                                         KernelInfo &info) {
  ArrayRef<int64_t> shape = typeOf(op.getInputs()[0]).getShape();
  ArrayRef<int64_t> kept = typeOf(op.getResult(0)).getShape();
  SmallVector<int64_t> dims(op.getDimensions()), reduced;
  llvm::sort(dims);
  for (int64_t dim : dims)
    reduced.push_back(shape[dim]);
  info.extent = typeOf(op.getResult(0)).getNumElements();
  Joiner joiner(code, op.getInputs(), op.getResults(), op.getBody());
  code.loop(code.begin, code.end, 1, {}, [&](Value i, ValueRange) {
    Indices outer = code.delinearize(kept, i);
    Indices sums = code.loopOver(
        reduced, joiner.start(op.getInitValues()),
        [&](ArrayRef<Value> inner, ValueRange carried) {
          Indices indices;
          for (int64_t d = 0, o = 0, r = 0, e = shape.size(); d < e; ++d)
            indices.push_back(llvm::is_contained(dims, d) ? inner[r++]
                                                          : outer[o++]);
          return joiner.join(carried, code.linearize(shape, indices));
        });
    joiner.store(sums, i);
    return Indices();
  });
  return failure(joiner.failed);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// The place in an input that is spread out and padded, and whether there is an
/// element.
static std::pair<Value, Value> findSource(KernelCode &code, Value place,
                                          int64_t low, int64_t dilation,
                                          int64_t size) {
  place = code.add(place, -low);
  if (dilation == 1)
    return {place, code.isInside(place, size)};
  // A negative place is no multiple of anything.
  Value inside = arith::CmpIOp::create(code.builder, code.loc,
                                       arith::CmpIPredicate::sge, place,
                                       code.index(0));
  Value whole = arith::CmpIOp::create(
      code.builder, code.loc, arith::CmpIPredicate::eq,
      code.remainder(place, dilation), code.index(0));
  Value source = code.divide(place, dilation);
  return {source, code.both(code.both(inside, whole),
                            code.isInside(source, size))};
}

/// The dimension of a cumulative reduction: the window reaches from each element
/// to one end. -1 for other windows.
static int64_t findScan(stablehlo::ReduceWindowOp op, bool &isReverse) {
  ArrayRef<int64_t> shape = typeOf(op.getInputs()[0]).getShape();
  int64_t dim = -1;
  for (auto [d, window] : llvm::enumerate(op.getWindows())) {
    if (window.stride != 1 || window.baseDilation != 1 || window.dilation != 1)
      return -1;
    if (window.size == 1 && window.low == 0 && window.high == 0)
      continue;
    int64_t reach = window.size - 1;
    bool forward = window.low == reach && window.high == 0;
    bool reverse = window.high == reach && window.low == 0;
    if (dim >= 0 || window.size < shape[d] || (!forward && !reverse))
      return -1;
    dim = d;
    isReverse = reverse;
  }
  return dim;
}

LogicalResult pipemesh::emitWindowKernel(KernelCode &code,
                                         stablehlo::ReduceWindowOp op,
                                         KernelInfo &info) {
  ArrayRef<int64_t> shape = typeOf(op.getInputs()[0]).getShape();
  ArrayRef<int64_t> out = typeOf(op.getResult(0)).getShape();
  int64_t total = typeOf(op.getResult(0)).getNumElements();
  Joiner joiner(code, op.getInputs(), op.getResults(), op.getBody());

  bool isReverse = false;
  if (int64_t dim = findScan(op, isReverse); dim >= 0 && total > 0) {
    int64_t length = shape[dim], stride = 1;
    for (int64_t size : shape.drop_front(dim + 1))
      stride *= size;
    info.extent = total / length;
    code.loop(code.begin, code.end, 1, {}, [&](Value line, ValueRange) {
      Value base = code.add(code.mul(code.divide(line, stride), length * stride),
                            code.remainder(line, stride));
      code.loop(code.index(0), code.index(length), 1,
                joiner.start(op.getInitValues()),
                [&](Value i, ValueRange carried) {
                  Value place =
                      isReverse ? code.sub(code.index(length - 1), i) : i;
                  Value position = code.add(base, code.mul(place, stride));
                  Indices sums = joiner.join(carried, position);
                  joiner.store(sums, position);
                  return sums;
                });
      return Indices();
    });
    return failure(joiner.failed);
  }

  auto windows = op.getWindows();
  SmallVector<int64_t> sizes;
  for (const auto &window : windows)
    sizes.push_back(window.size);
  info.extent = total;
  SmallVector<Type> types = registerTypes(op.getResults());
  code.loop(code.begin, code.end, 1, {}, [&](Value i, ValueRange) {
    Indices outer = code.delinearize(out, i);
    Indices sums = code.loopOver(
        sizes, joiner.start(op.getInitValues()),
        [&](ArrayRef<Value> inner, ValueRange carried) {
          Indices indices;
          Value inside;
          for (auto [d, window] : llvm::enumerate(windows)) {
            Value place = code.add(code.mul(outer[d], window.stride),
                                   code.mul(inner[d], window.dilation));
            auto [source, exists] = findSource(code, place, window.low,
                                               window.baseDilation, shape[d]);
            indices.push_back(source);
            inside = code.both(inside, exists);
          }
          if (!inside)
            return joiner.join(carried, code.index(0));
          return code.choose(
              inside, types,
              [&] {
                return joiner.join(carried, code.linearize(shape, indices));
              },
              [&] { return Indices(carried.begin(), carried.end()); });
        });
    joiner.store(sums, i);
    return Indices();
  });
  return failure(joiner.failed);
}

//===----------------------------------------------------------------------===//
// Sums of products
//===----------------------------------------------------------------------===//

namespace {

/// A sum of products of two operands; half precision adds up in float32.
class ProductSum {
public:
  ProductSum(KernelCode &code, Value lhs, Value rhs, Value result)
      : code(code), lhs(lhs), rhs(rhs),
        element(typeOf(result).getElementType()), sumElement(element) {
    if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
      sumElement = code.builder.getF32Type();
  }

  Value zero() {
    return code.constant(getRegisterType(sumElement), 0);
  }
  Type getType() { return getRegisterType(sumElement); }

  Value add(Value sum, Value lhsPosition, Value rhsPosition) {
    Value a = load(lhs, lhsPosition), b = load(rhs, rhsPosition);
    OpBuilder &builder = code.builder;
    if (isa<FloatType>(sumElement))
      return arith::AddFOp::create(
          builder, code.loc, sum,
          arith::MulFOp::create(builder, code.loc, a, b));
    if (isa<ComplexType>(sumElement))
      return combine<stablehlo::AddOp>(sum, combine<stablehlo::MulOp>(a, b));
    if (sumElement.isInteger(1))
      return arith::OrIOp::create(
          builder, code.loc, sum,
          arith::AndIOp::create(builder, code.loc, a, b));
    return arith::AddIOp::create(
        builder, code.loc, sum,
        arith::MulIOp::create(builder, code.loc, a, b));
  }

  void store(Value sum, Value position) {
    code.storeElement(
        0, element, emitCast(code.builder, code.loc, sum, sumElement, element),
        position);
  }

private:
  KernelCode &code;
  Value lhs, rhs;
  Type element, sumElement;

  Value load(Value operand, Value position) {
    Value value = code.loadElement(operand, position);
    Type from = typeOf(operand).getElementType();
    if (isa<ComplexType>(from))
      return value;
    return emitCast(code.builder, code.loc, value, from, sumElement);
  }

  /// One of the dialect's ops on complex numbers.
  template <typename OpTy> Value combine(Value a, Value b) {
    auto type = RankedTensorType::get({}, sumElement);
    OperationState sourceState(code.loc,
                               UnrealizedConversionCastOp::getOperationName());
    sourceState.addTypes(type);
    Operation *source = Operation::create(sourceState);
    OperationState state(code.loc, OpTy::getOperationName(),
                         {source->getResult(0), source->getResult(0)}, {type},
                         {});
    Operation *op = Operation::create(state);
    Value value = emitElementwise(code.builder, op, {a, b}, 1);
    op->destroy();
    source->destroy();
    return value;
  }
};

} // namespace

LogicalResult pipemesh::emitProductKernel(KernelCode &code,
                                          stablehlo::DotGeneralOp op,
                                          KernelInfo &info) {
  auto numbers = op.getDotDimensionNumbers();
  ArrayRef<int64_t> lhsShape = typeOf(op.getLhs()).getShape(),
                    rhsShape = typeOf(op.getRhs()).getShape(),
                    shape = typeOf(op.getResult()).getShape();
  SmallVector<int64_t> contracted;
  for (int64_t dim : numbers.getLhsContractingDimensions())
    contracted.push_back(lhsShape[dim]);
  info.extent = typeOf(op.getResult()).getNumElements();
  ProductSum product(code, op.getLhs(), op.getRhs(), op.getResult());
  code.loop(code.begin, code.end, 1, {}, [&](Value i, ValueRange) {
    Indices outer = code.delinearize(shape, i);
    Value sum = code.loopOver(
        contracted, product.zero(),
        [&](ArrayRef<Value> inner, ValueRange carried) -> Indices {
          size_t next = numbers.getLhsBatchingDimensions().size();
          auto gather = [&](size_t rank, ArrayRef<int64_t> batching,
                            ArrayRef<int64_t> contracting) {
            Indices indices(rank);
            for (auto [place, dim] : llvm::enumerate(batching))
              indices[dim] = outer[place];
            for (auto [place, dim] : llvm::enumerate(contracting))
              indices[dim] = inner[place];
            for (Value &index : indices)
              if (!index)
                index = outer[next++];
            return indices;
          };
          Indices lhs = gather(lhsShape.size(),
                               numbers.getLhsBatchingDimensions(),
                               numbers.getLhsContractingDimensions());
          Indices rhs = gather(rhsShape.size(),
                               numbers.getRhsBatchingDimensions(),
                               numbers.getRhsContractingDimensions());
          return {product.add(carried[0], code.linearize(lhsShape, lhs),
                              code.linearize(rhsShape, rhs))};
        })[0];
    product.store(sum, i);
    return Indices();
  });
  return success();
}

LogicalResult pipemesh::emitConvolutionKernel(KernelCode &code,
                                              stablehlo::ConvolutionOp op,
                                              KernelInfo &info) {
  auto dims = op.getDimensionNumbers();
  auto windows = op.getWindows();
  ArrayRef<int64_t> inputShape = typeOf(op.getLhs()).getShape(),
                    kernelShape = typeOf(op.getRhs()).getShape(),
                    shape = typeOf(op.getResult()).getShape(),
                    inputSpatial = dims.getInputSpatialDimensions(),
                    kernelSpatial = dims.getKernelSpatialDimensions(),
                    outputSpatial = dims.getOutputSpatialDimensions();
  int64_t features = kernelShape[dims.getKernelInputFeatureDimension()];
  int64_t outFeatures = kernelShape[dims.getKernelOutputFeatureDimension()];
  int64_t outBatch = shape[dims.getOutputBatchDimension()];
  int64_t featureGroups = op.getFeatureGroupCount();
  int64_t batchGroups = op.getBatchGroupCount();
  SmallVector<int64_t> sizes;
  for (const auto &window : windows)
    sizes.push_back(window.size);
  info.extent = typeOf(op.getResult()).getNumElements();
  ProductSum product(code, op.getLhs(), op.getRhs(), op.getResult());
  code.loop(code.begin, code.end, 1, {}, [&](Value i, ValueRange) {
    Indices outer = code.delinearize(shape, i);
    Value feature = outer[dims.getOutputFeatureDimension()];
    Value batch = outer[dims.getOutputBatchDimension()];
    if (batchGroups > 1)
      batch = code.add(
          batch, code.mul(code.divide(feature, outFeatures / batchGroups),
                          outBatch));
    Value firstFeature =
        featureGroups > 1
            ? code.mul(code.divide(feature, outFeatures / featureGroups),
                       features)
            : code.index(0);
    auto sumFeatures = [&](Indices input, Indices kernel, Value sum) {
      return code.loop(
          code.index(0), code.index(features), 1, sum,
          [&](Value f, ValueRange carried) -> Indices {
            input[dims.getInputFeatureDimension()] = code.add(firstFeature, f);
            kernel[dims.getKernelInputFeatureDimension()] = f;
            return {product.add(carried[0], code.linearize(inputShape, input),
                                code.linearize(kernelShape, kernel))};
          });
    };
    Value sum = code.loopOver(
        sizes, product.zero(),
        [&](ArrayRef<Value> inner, ValueRange carried) -> Indices {
          Indices input(inputShape.size()), kernel(kernelShape.size());
          input[dims.getInputBatchDimension()] = batch;
          kernel[dims.getKernelOutputFeatureDimension()] = feature;
          Value inside;
          for (auto [d, window] : llvm::enumerate(windows)) {
            Value place =
                code.add(code.mul(outer[outputSpatial[d]], window.stride),
                         code.mul(inner[d], window.dilation));
            auto [source, exists] =
                findSource(code, place, window.low, window.inputDilation,
                           inputShape[inputSpatial[d]]);
            input[inputSpatial[d]] = source;
            inside = code.both(inside, exists);
            kernel[kernelSpatial[d]] =
                window.reversed ? code.sub(code.index(window.size - 1), inner[d])
                                : inner[d];
          }
          if (!inside)
            return sumFeatures(input, kernel, carried[0]);
          return code.choose(
              inside, product.getType(),
              [&] { return sumFeatures(input, kernel, carried[0]); },
              [&] { return Indices{carried[0]}; });
        })[0];
    product.store(sum, i);
    return Indices();
  });
  return success();
}
