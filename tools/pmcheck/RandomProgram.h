//===- RandomProgram.h - random programs with shardings ---------*- C++ -*-===//
//
// A program is a function of a list of numbers, its choices. The same choices
// give the same program, so that a seed tells it and a shorter list of smaller
// numbers is a simpler one.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_TOOLS_PMCHECK_RANDOMPROGRAM_H
#define PIPEMESH_TOOLS_PMCHECK_RANDOMPROGRAM_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include <string>
#include <vector>

namespace pipemesh::check {

using Shape = llvm::SmallVector<int64_t, 4>;

/// The choices of the mesh, of each statement, and of the results.
using ChoiceLists = std::vector<std::vector<uint32_t>>;

/// Draws numbers, of which 0 is the simplest, and writes them down; or gives
/// those that were written down, and zeros when they end.
class Choices {
public:
  /// Random ones.
  explicit Choices(uint64_t seed) : state(seed) {}
  /// Given ones.
  explicit Choices(ChoiceLists given) : given(std::move(given)), replays(true) {}

  /// Begins the next list.
  void beginList();
  uint32_t below(uint32_t bound);
  int64_t between(int64_t low, int64_t high) {
    return low + below(uint32_t(high - low + 1));
  }
  /// False is the simpler one.
  bool chance(uint32_t percent) { return below(100) >= 100 - percent; }
  template <typename T> T oneOf(std::initializer_list<T> list) {
    return list.begin()[below(list.size())];
  }
  /// A permutation of 0 .. count - 1; the first choice of each is in order.
  Shape permutation(int64_t count);

  const ChoiceLists &getTaken() const { return taken; }
  size_t getNumGiven() const { return given.size(); }
  bool isReplay() const { return replays; }

private:
  uint64_t next();
  uint64_t state = 0;
  ChoiceLists given, taken;
  size_t at = 0;
  bool replays = false;
};

struct TensorType {
  std::string element;
  Shape shape;

  std::string str() const;
  int64_t rank() const { return shape.size(); }
  int64_t size() const;
  bool isFloat() const { return element[0] == 'f'; }
  bool isBool() const { return element == "i1"; }
  bool isInt() const { return !isFloat() && !isBool(); }
  TensorType with(Shape other) const { return {element, std::move(other)}; }
  TensorType as(llvm::StringRef other) const { return {other.str(), shape}; }
  bool operator==(const TensorType &other) const {
    return element == other.element && shape == other.shape;
  }
};

/// A value of the program. Real numbers are multiples of 2^grain below
/// 2^magnitude as long as `exact`; sums of them are then the same in any order.
/// Others may differ by rounding, and nothing that jumps is computed of them.
struct RandomValue {
  std::string name;
  TensorType type;
  double magnitude = 0, grain = 0;
  bool exact = true;
};

struct RandomOptions {
  llvm::StringMap<int> ops;      ///< Only these, if there are any.
  llvm::StringMap<int> features; ///< See `isOn`.
  std::string mesh;              ///< Such as 2x3; any if empty.
  int64_t maxOps = 15;
};

class RandomGenerator {
public:
  RandomGenerator(const RandomOptions &options, Choices &choices,
                  mlir::MLIRContext &context)
      : options(options), choices(choices), context(context) {}

  /// The module's text.
  std::string make();
  llvm::ArrayRef<std::string> getOpsUsed() const { return used; }
  /// Such as 2x3.
  llvm::StringRef getMesh() const { return meshText; }
  /// All meshes that are drawn.
  static llvm::ArrayRef<const char *> getMeshes();
  /// What its mesh and shardings have of the features.
  const llvm::StringSet<> &getFeaturesUsed() const { return featuresUsed; }
  /// The names of all kinds of statements.
  static std::vector<std::string> getKinds();

private:
  using Draw = void (RandomGenerator::*)();
  struct Kind {
    const char *name;
    unsigned weight;
    Draw draw;
    /// The op that must be registered, where it is not part of every build.
    const char *needs = nullptr;
  };
  static llvm::ArrayRef<Kind> allKinds();

  bool isOn(llvm::StringRef feature) const {
    return options.features.count(feature);
  }
  void note(llvm::StringRef feature) { featuresUsed.insert(feature); }

  // The mesh and shardings.
  struct Axis {
    std::string name;
    int64_t size;
  };
  void drawMesh();
  std::string drawSharding(const TensorType &type, bool allowPartial = false);
  /// An annotation for an argument or a result, or nothing.
  std::string drawAttribute(const TensorType &type, uint32_t percent,
                            bool allowPartial = false);

  // Values.
  std::string drawElement();
  int64_t drawSize();
  Shape drawShape(int64_t minRank, int64_t maxRank);
  RandomValue makeArgument(TensorType type);
  RandomValue makeArgument(int64_t minRank, int64_t maxRank, llvm::StringRef element);
  /// A value in scope that satisfies `fits`, or a new argument from `otherwise`.
  RandomValue pick(llvm::function_ref<bool(const RandomValue &)> fits,
                   llvm::function_ref<RandomValue()> otherwise);
  RandomValue pickFloat(int64_t minRank, int64_t maxRank = 4);
  /// Of any element type.
  RandomValue pickAny(int64_t minRank, int64_t maxRank = 4);
  /// Which may be compared.
  RandomValue pickExact(int64_t minRank, int64_t maxRank = 4);
  RandomValue pickInt(int64_t minRank, int64_t maxRank = 4);
  RandomValue pickType(const TensorType &type);
  /// A value of the type of another: any in scope, an argument, a constant or a
  /// broadcast of something smaller.
  RandomValue pickLike(const RandomValue &other);
  RandomValue constant(const TensorType &type, double value);
  /// A rank-0 i32 or i64 below `limit`, or somewhat outside.
  RandomValue pickIndexScalar(llvm::StringRef element, int64_t limit);
  /// Indices of the type, mostly below `limit`.
  RandomValue pickIndices(const TensorType &type, int64_t limit);

  // Text.
  std::string newName() { return "%v" + std::to_string(numNames++); }
  void line(const std::string &text) {
    text_ += std::string(indent, ' ') + text + "\n";
  }
  /// A value with the range and exactness of `like`.
  RandomValue result(const TensorType &type, const RandomValue &like);
  /// `%v = OP operands rest`, without making the value visible.
  RandomValue assign(const std::string &expression, const TensorType &type,
                     const RandomValue &like);
  /// Makes the value visible, perhaps behind a constraint.
  void finish(RandomValue value);
  /// Whether the number of bits between magnitude and grain is small enough.
  static bool fitsExactly(double magnitude, double grain) {
    return magnitude - grain <= 50;
  }

  void statement();
  /// The statements of a region, at most `count`; what they make is forgotten.
  struct Scope;
  RandomValue normalized(const RandomValue &value, const RandomValue &like);

  // Kinds of statements.
  void unary();
  void smooth();
  void binary();
  void divide();
  void logic();
  void compareAndSelect();
  void clamp();
  void convertElements();
  void reshape();
  void transpose();
  void broadcast();
  void concatenate();
  void slice();
  void pad();
  void reverse();
  void iota();
  void constants();
  void barrier();
  void constrainMore();
  void shardingGroup();
  void dot();
  void reduce();
  void argmax();
  void sort();
  void topK();
  void reduceWindow();
  void dynamicSlice();
  void dynamicUpdateSlice();
  void gather();
  void scatter();
  void loop();
  void branch();
  void rmsNorm();
  void layerNorm();
  void rope();
  void attention();
  void embedding();
  void embeddingGradient();
  void crossEntropy();

  const RandomOptions &options;
  Choices &choices;
  mlir::MLIRContext &context;
  std::vector<Axis> mesh;
  std::vector<std::pair<RandomValue, std::string>> arguments;
  std::vector<RandomValue> visible;
  std::vector<std::string> used;
  std::string text_, meshText;
  llvm::StringSet<> featuresUsed;
  unsigned indent = 2, depth = 0, numNames = 0, numGroups = 0;
};

/// "1, 2, 3"
std::string join(llvm::ArrayRef<int64_t> list);

} // namespace pipemesh::check

#endif // PIPEMESH_TOOLS_PMCHECK_RANDOMPROGRAM_H
