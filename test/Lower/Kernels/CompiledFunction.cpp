//===- CompiledFunction.cpp - runs a function's kernels -------------------===//

#include "CompiledFunction.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/InitAll.h"
#include "pipemesh/Lower/Kernels/Passes.h"
#include "pipemesh/Verify/Interpreter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include <chrono>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::test;

/// As in pmrt.h.
struct KernelContext {
  void (*sgemm)(int64_t, int64_t, int64_t, int64_t, int64_t, float,
                const float *, int64_t, const float *, int64_t, float, float *,
                int64_t);
  const int64_t *coordinates;
};
using KernelFunction = void (*)(void *const *, int64_t, int64_t, void *,
                                const KernelContext *);

static void plainGemm(int64_t transA, int64_t transB, int64_t m, int64_t n,
                      int64_t k, float alpha, const float *a, int64_t lda,
                      const float *b, int64_t ldb, float beta, float *c,
                      int64_t ldc) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += double(transA ? a[l * lda + i] : a[i * lda + l]) *
               (transB ? b[j * ldb + l] : b[l * ldb + j]);
      float old = beta == 0 ? 0 : beta * c[i * ldc + j];
      c[i * ldc + j] = float(alpha * sum) + old;
    }
}

static unsigned getBytes(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * getBytes(complex.getElementType());
  return element.isInteger(1) ? 1 : element.getIntOrFloatBitWidth() / 8;
}

/// A number in the format of a floating-point type, and back.
static void writeFloat(char *place, FloatType type, double x) {
  APFloat value(x);
  bool inexact;
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &inexact);
  uint64_t bits = value.bitcastToAPInt().getZExtValue();
  memcpy(place, &bits, type.getWidth() / 8);
}
static double readFloat(const char *place, FloatType type) {
  uint64_t bits = 0;
  memcpy(&bits, place, type.getWidth() / 8);
  APFloat value(type.getFloatSemantics(), APInt(type.getWidth(), bits));
  bool inexact;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

static size_t getBytes(RankedTensorType type) {
  return type.getNumElements() * getBytes(type.getElementType());
}

CompiledFunction::CompiledFunction(const std::string &text,
                                   unsigned vectorWidth) {
  DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  reference = parseSourceString<ModuleOp>(text, &context);
  if (!reference) {
    ADD_FAILURE() << "does not parse: " << text;
    return;
  }
  fused = cast<ModuleOp>(reference.get()->clone());
  PassManager passes(&context);
  passes.addNestedPass<func::FuncOp>(createFuseKernels());
  if (failed(passes.run(*fused))) {
    ADD_FAILURE() << "forms no kernels: " << text;
    return;
  }
#ifdef PIPEMESH_TEST_CUDA
  loadGpuKernels(text);
  return;
#endif
  CpuTarget target = CpuTarget::getHost();
  if (vectorWidth)
    target.vectorWidth = vectorWidth;
  KernelBuilder builder(&context, target);
  bool good = true;
  fused->walk([&](pmrt::FusedOp op) {
    FailureOr<KernelInfo> info = builder.getOrCreate(op);
    if (succeeded(info))
      kernelOf[op] = *info;
    else
      good = false;
  });
  if (!good) {
    ADD_FAILURE() << "a kernel has no code: " << text;
    return;
  }
  kernels.assign(builder.getKernels().begin(), builder.getKernels().end());
  llvm::LLVMContext llvmContext;
  FailureOr<std::unique_ptr<llvm::Module>> module = builder.finish(llvmContext);
  if (failed(module)) {
    ADD_FAILURE() << "is not lowered: " << text;
    return;
  }
  llvm::SmallString<128> path;
  llvm::sys::fs::createUniqueDirectory("pipemesh-kernels", path);
  directory = path.str().str();
  std::string object = directory + "/kernels.o", shared = directory + "/k.so";
  if (llvm::Error error = emitObject(**module, target, object)) {
    ADD_FAILURE() << llvm::toString(std::move(error));
    return;
  }
  if (llvm::Error error = linkSharedObject({object}, shared)) {
    ADD_FAILURE() << llvm::toString(std::move(error));
    return;
  }
  library = dlopen(shared.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    ADD_FAILURE() << dlerror();
}

#ifdef PIPEMESH_TEST_CUDA
void CompiledFunction::loadGpuKernels(const std::string &text) {
  OwningOpRef<ModuleOp> own = ModuleOp::create(UnknownLoc::get(&context));
  GpuKernelBuilder builder(*own);
  bool good = true;
  fused->walk([&](pmrt::FusedOp op) {
    FailureOr<GpuKernelInfo> info = builder.getOrCreate(op);
    good &= succeeded(info);
    if (good)
      gpuKernelOf[op] = *info;
  });
  if (!good) {
    ADD_FAILURE() << "a kernel has no code: " << text;
    return;
  }
  kernels.resize(builder.getKernels().size());
  auto ptx = compileToPtx(builder.getModule(), CudaToolkit::find());
  if (!ptx) {
    ADD_FAILURE() << llvm::toString(ptx.takeError());
    return;
  }
  std::string problem;
  emulator = std::make_unique<::pmrt::ptx::Emulator>(*ptx, problem);
  if (!problem.empty()) {
    ADD_FAILURE() << problem << "\n" << *ptx;
    emulator.reset();
  }
}

/// `Split::Single` runs blocks and threads from the last one down.
void CompiledFunction::runGpuKernel(pmrt::FusedOp op,
                                    const std::vector<void *> &operands,
                                    Split split) {
  const GpuKernelInfo &info = gpuKernelOf.at(op);
  ::pmrt::ptx::Launch launch;
  launch.blocks = info.blocks;
  launch.threads = info.threads;
  launch.isReversed = split == Split::Single;
  SmallVector<Type> types(op.getOperandTypes());
  llvm::append_range(types, op.getResultTypes());
  for (auto [pointer, type] : llvm::zip(operands, types))
    launch.parameters.push_back(
        {pointer, getBytes(cast<RankedTensorType>(type))});
  int64_t coordinates[] = {1, 2, 3};
  Bytes scratch(info.scratchBytes, char(0xff));
  launch.parameters.push_back({coordinates, sizeof(coordinates)});
  launch.parameters.push_back({scratch.data(), scratch.size()});
  EXPECT_EQ(emulator->run(info.name, launch), "");
}
#endif

CompiledFunction::~CompiledFunction() {
  if (library)
    dlclose(library);
  if (!directory.empty())
    llvm::sys::fs::remove_directories(directory);
}

func::FuncOp CompiledFunction::getReference() {
  return *reference->getOps<func::FuncOp>().begin();
}

std::vector<Bytes> CompiledFunction::makeArguments(unsigned seed) const {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<Bytes> arguments;
  auto function = *reference.get().getOps<func::FuncOp>().begin();
  for (BlockArgument argument : function.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    unsigned index = argument.getArgNumber();
    int64_t low = 0, high = 5;
    if (auto attr = function.getArgAttrOfType<IntegerAttr>(index, "test.low"))
      low = attr.getInt();
    if (auto attr = function.getArgAttrOfType<IntegerAttr>(index, "test.high"))
      high = attr.getInt();
    bool positive = function.getArgAttr(index, "test.positive") != nullptr;
    auto value = function.getArgAttrOfType<FloatAttr>(index, "test.value");
    Bytes bytes(getBytes(type));
    Type element = type.getElementType();
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      if (element.isF32()) {
        float x = value ? value.getValueAsDouble() : normal(random);
        if (positive)
          x = std::fabs(x) + 0.01f;
        memcpy(&bytes[i * 4], &x, 4);
      } else if (auto floatType = dyn_cast<FloatType>(element)) {
        double x = value ? value.getValueAsDouble() : normal(random);
        if (positive)
          x = std::fabs(x) + 0.01;
        writeFloat(&bytes[i * getBytes(element)], floatType, x);
      } else if (auto complex = dyn_cast<ComplexType>(element)) {
        auto part = cast<FloatType>(complex.getElementType());
        for (unsigned side : {0, 1})
          writeFloat(&bytes[(2 * i + side) * getBytes(part)], part,
                     normal(random));
      } else {
        int64_t x = low + int64_t(random() % (high - low));
        if (element.isInteger(1))
          x &= 1;
        memcpy(&bytes[i * getBytes(element)], &x, getBytes(element));
      }
    }
    arguments.push_back(bytes);
  }
  return arguments;
}

void CompiledFunction::runKernel(pmrt::FusedOp op,
                                 const std::vector<void *> &operands,
                                 Split split) {
#ifdef PIPEMESH_TEST_CUDA
  return runGpuKernel(op, operands, split);
#endif
  const KernelInfo &info = kernelOf.at(op);
  auto function =
      reinterpret_cast<KernelFunction>(dlsym(library, info.name.c_str()));
  ASSERT_NE(function, nullptr) << info.name;
  const int64_t coordinates[] = {1, 2, 3};
  KernelContext kernelContext{plainGemm, coordinates};
  auto call = [&](int64_t begin, int64_t end) {
    Bytes scratch(info.scratchBytes + 64, char(0xff));
    void *aligned = reinterpret_cast<void *>(
        (reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~uintptr_t(63));
    function(operands.data(), begin, end, aligned, &kernelContext);
  };
  switch (split) {
  case Split::Whole:
    call(0, info.extent);
    break;
  case Split::Single:
    for (int64_t i = info.extent; i-- > 0;)
      call(i, i + 1);
    break;
  case Split::Uneven: {
    int64_t third = info.extent / 3;
    call(third, info.extent);
    call(0, third);
  }
  }
}

std::vector<Bytes> CompiledFunction::run(const std::vector<Bytes> &arguments,
                                         Split split, bool inPlace) {
  auto function = *fused->getOps<func::FuncOp>().begin();
  llvm::DenseMap<Value, std::shared_ptr<Bytes>> buffers;
  for (auto [argument, bytes] : llvm::zip(function.getArguments(), arguments))
    buffers[argument] = std::make_shared<Bytes>(bytes);
  std::vector<Bytes> results;
  for (Operation &op : function.getBody().front()) {
    if (auto reshape = dyn_cast<stablehlo::ReshapeOp>(op)) {
      buffers[reshape.getResult()] = buffers[reshape.getOperand()];
    } else if (auto fusedOp = dyn_cast<pmrt::FusedOp>(op)) {
      std::vector<void *> pointers;
      std::vector<std::shared_ptr<Bytes>> operands;
      for (Value input : fusedOp.getInputs()) {
        operands.push_back(buffers[input]);
        // What is overwritten in place is a copy: others may still read it.
        if (inPlace)
          operands.back() = std::make_shared<Bytes>(*operands.back());
        pointers.push_back(operands.back()->data());
      }
      for (auto [index, result] : llvm::enumerate(fusedOp.getResults())) {
        int64_t place = fusedOp.getInPlace()[index];
        std::shared_ptr<Bytes> buffer;
        if (inPlace && place >= 0)
          buffer = operands[place];
        else
          buffer = std::make_shared<Bytes>(
              getBytes(cast<RankedTensorType>(result.getType())), char(0xff));
        buffers[result] = buffer;
        pointers.push_back(buffer->data());
      }
      runKernel(fusedOp, pointers, split);
    } else if (isa<func::ReturnOp>(op)) {
      for (Value value : op.getOperands())
        results.push_back(*buffers[value]);
    } else {
      ADD_FAILURE() << "unexpected op " << op.getName().getStringRef().str();
    }
  }
  return results;
}

static interp::Tensor toTensor(const Bytes &bytes, RankedTensorType type) {
  interp::Tensor tensor(type);
  Type element = type.getElementType();
  unsigned size = getBytes(element);
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    const char *place = &bytes[i * size];
    if (element.isF32()) {
      float x;
      memcpy(&x, place, 4);
      tensor.floats()[i] = x;
    } else if (auto floatType = dyn_cast<FloatType>(element)) {
      tensor.floats()[i] = readFloat(place, floatType);
    } else if (auto complex = dyn_cast<ComplexType>(element)) {
      auto part = cast<FloatType>(complex.getElementType());
      for (unsigned side : {0, 1})
        tensor.floats()[2 * i + side] =
            readFloat(place + side * getBytes(part), part);
    } else {
      int64_t x = 0;
      memcpy(&x, place, size);
      tensor.ints()[i] = interp::IntegerFormat::get(element).wrap(x);
    }
  }
  return tensor;
}

void CompiledFunction::check(double tolerance, unsigned seed) {
  if (!isValid())
    return;
  std::vector<Bytes> arguments = makeArguments(seed);
  std::vector<Bytes> results = run(arguments, Split::Whole, false);
  EXPECT_EQ(results, run(arguments, Split::Single, false));
  EXPECT_EQ(results, run(arguments, Split::Uneven, false));
  EXPECT_EQ(results, run(arguments, Split::Whole, true));
  EXPECT_EQ(results, run(arguments, Split::Single, true));

  func::FuncOp function = getReference();
  SmallVector<interp::Tensor> inputs;
  for (auto [argument, bytes] : llvm::zip(function.getArguments(), arguments))
    inputs.push_back(
        toTensor(bytes, cast<RankedTensorType>(argument.getType())));
  auto expected = interp::runFunction(function, inputs);
  ASSERT_TRUE(succeeded(expected));
  for (size_t i = 0; i < results.size(); ++i) {
    auto type = cast<RankedTensorType>(function.getResultTypes()[i]);
    interp::Tensor actual = toTensor(results[i], type);
    double largest = 0;
    // The parts of complex numbers are compared one by one.
    bool isComplex = actual.isComplex();
    int64_t count = actual.size() * (isComplex ? 2 : 1);
    auto at = [&](const interp::Tensor &tensor, int64_t j) {
      return isComplex ? tensor.floats()[j] : tensor.asDouble(j);
    };
    for (int64_t j = 0; j < count; ++j)
      if (std::isfinite(at((*expected)[i], j)))
        largest = std::max(largest, std::fabs(at((*expected)[i], j)));
    for (int64_t j = 0; j < count; ++j) {
      double got = at(actual, j), want = at((*expected)[i], j);
      bool same = got == want || (std::isnan(got) && std::isnan(want)) ||
                  std::fabs(got - want) <= tolerance * largest;
      if (!same) {
        std::string text;
        llvm::raw_string_ostream os(text);
        fused->print(os);
        ADD_FAILURE() << "result " << i << ", element " << j << ": " << got
                      << " instead of " << want << "\n"
                      << text;
        return;
      }
    }
  }
}

double CompiledFunction::measure(unsigned repeats) {
  auto function = *fused->getOps<func::FuncOp>().begin();
  auto op = *function.getBody().front().getOps<pmrt::FusedOp>().begin();
  const KernelInfo &info = kernelOf.at(op);
  auto code =
      reinterpret_cast<KernelFunction>(dlsym(library, info.name.c_str()));
  std::vector<Bytes> buffers;
  for (Type type : op.getOperandTypes())
    buffers.emplace_back(getBytes(cast<RankedTensorType>(type)));
  for (Type type : op.getResultTypes())
    buffers.emplace_back(getBytes(cast<RankedTensorType>(type)));
  std::vector<void *> pointers;
  for (Bytes &buffer : buffers)
    pointers.push_back(buffer.data());
  for (auto [index, place] : llvm::enumerate(op.getInPlace()))
    if (place >= 0)
      pointers[op.getNumOperands() + index] = pointers[place];
  Bytes scratch(info.scratchBytes + 64);
  const int64_t coordinates[] = {0, 0, 0};
  KernelContext kernelContext{plainGemm, coordinates};
  double best = 1e9;
  for (unsigned i = 0; i < repeats; ++i) {
    // The same values each time: some kernels change what they read.
    for (auto [buffer, argument] : llvm::zip(buffers, op.getInputs())) {
      if (!getElementTypeOrSelf(argument.getType()).isF32())
        continue;
      float *values = reinterpret_cast<float *>(buffer.data());
      for (size_t j = 0; j < buffer.size() / 4; ++j)
        values[j] = 0.5f + 0.01f * float(j % 37);
    }
    auto start = std::chrono::steady_clock::now();
    code(pointers.data(), 0, info.extent, scratch.data(), &kernelContext);
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  return best;
}

void pipemesh::test::checkKernels(const std::string &text, double tolerance) {
  CompiledFunction(text).check(tolerance);
}
