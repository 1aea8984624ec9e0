// Registration of the chlo dialect.
#include "pipemesh/Dialect/CHLO/CHLO.h"

using namespace mlir;
using namespace pipemesh::chlo;

#include "pipemesh/Dialect/CHLO/CHLODialect.cpp.inc"

#define GET_OP_CLASSES
#include "pipemesh/Dialect/CHLO/CHLO.cpp.inc"

void CHLODialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "pipemesh/Dialect/CHLO/CHLO.cpp.inc"
      >();
}
