//===- GraphBuilder.h - The pieces of which model graphs are made ---------===//

#ifndef PIPEMESH_LIB_IMPORT_GRAPHBUILDER_H
#define PIPEMESH_LIB_IMPORT_GRAPHBUILDER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "pipemesh/Import/ModelConfig.h"
#include "llvm/ADT/StringMap.h"

namespace pipemesh {

/// Emits ops at the end of a block. Each method takes the name of the module
/// that the ops belong to, which becomes their location.
class GraphBuilder {
public:
  GraphBuilder(mlir::OpBuilder &builder, const ModelConfig &config,
               int64_t batch, int64_t sequence)
      : config(config), batch(batch), sequence(sequence), builder(builder) {}

  const ModelConfig &config;
  const int64_t batch, sequence;

  /// Parameters by their names in the model library.
  void setParameter(llvm::StringRef name, mlir::Value value) {
    parameters[name] = value;
  }
  mlir::Value parameter(const llvm::Twine &name) const;

  mlir::Location at(const llvm::Twine &module) const;
  mlir::RankedTensorType f32(llvm::ArrayRef<int64_t> shape) const;

  /// A number of rank 0, and one repeated in a shape.
  mlir::Value scalar(const llvm::Twine &module, double value);
  mlir::Value splat(const llvm::Twine &module, double value,
                    llvm::ArrayRef<int64_t> shape);
  mlir::Value broadcast(const llvm::Twine &module, mlir::Value value,
                        llvm::ArrayRef<int64_t> dims,
                        llvm::ArrayRef<int64_t> shape);
  mlir::Value reshape(const llvm::Twine &module, mlir::Value value,
                      llvm::ArrayRef<int64_t> shape);
  /// Elements [begin, end) of one dimension.
  mlir::Value slice(const llvm::Twine &module, mlir::Value value,
                    int64_t dimension, int64_t begin, int64_t end);
  mlir::Value add(const llvm::Twine &module, mlir::Value a, mlir::Value b);
  mlir::Value multiply(const llvm::Twine &module, mlir::Value a, mlir::Value b);

  /// The last dimension of x by MODULE.weight, stored as [outputs, inputs]
  /// (torch.nn.Linear), or as [inputs, outputs...] with `transposed` (gpt2);
  /// plus MODULE.bias, [outputs...], if it has one.
  mlir::Value linear(const llvm::Twine &module, mlir::Value x, bool hasBias,
                     bool transposed = false);
  mlir::Value rmsNorm(const llvm::Twine &module, mlir::Value x);
  mlir::Value layerNorm(const llvm::Twine &module, mlir::Value x);
  mlir::Value embedding(const llvm::Twine &module, mlir::Value ids);
  mlir::Value activation(const llvm::Twine &module, mlir::Value x);
  /// q of [B, S, H, d], k and v of [B, S, K, d]; the result as [B, S, H d].
  mlir::Value attention(const llvm::Twine &module, mlir::Value q, mlir::Value k,
                        mlir::Value v, int64_t layer);
  /// Logits of x by the head's own weight or the embedding's.
  mlir::Value head(mlir::Value x, const llvm::Twine &embedding);
  /// The mean of the negative log-likelihoods of the counted tokens; labels are
  /// [batch, sequence + 1], and position s predicts the one at s + 1.
  mlir::Value loss(mlir::Value logits, mlir::Value labels);

  mlir::OpBuilder &builder;

private:
  mlir::Value contract(const llvm::Twine &module, mlir::Value x,
                       mlir::Value weight, int64_t dimension);

  llvm::StringMap<mlir::Value> parameters;
};

/// The logits of llama, qwen2, qwen3 and mistral.
mlir::Value buildRotaryDecoder(GraphBuilder &graph, mlir::Value ids);
/// The logits of gpt2.
mlir::Value buildGPT2(GraphBuilder &graph, mlir::Value ids);

} // namespace pipemesh

#endif // PIPEMESH_LIB_IMPORT_GRAPHBUILDER_H
