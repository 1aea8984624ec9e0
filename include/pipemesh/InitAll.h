// Registration of all dialects and passes, for tools.
#ifndef PIPEMESH_INITALL_H
#define PIPEMESH_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace pipemesh {

/// Adds our dialects, the upstream ones that our levels use, and the external
/// models of their interfaces.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers our passes and pipelines and the upstream ones that tests use.
void registerAllPasses();

} // namespace pipemesh

#endif // PIPEMESH_INITALL_H
