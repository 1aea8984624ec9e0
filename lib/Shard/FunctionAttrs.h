//===- FunctionAttrs.h - attributes of many arguments -----------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_FUNCTIONATTRS_H
#define PIPEMESH_LIB_SHARD_FUNCTIONATTRS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace pipemesh {

/// `old` with `name` set to each of `values`; a null value leaves it as it is.
inline llvm::SmallVector<mlir::DictionaryAttr>
withAttr(mlir::MLIRContext *context, llvm::ArrayRef<mlir::DictionaryAttr> old,
         llvm::StringRef name, llvm::ArrayRef<mlir::Attribute> values) {
  llvm::SmallVector<mlir::DictionaryAttr> all;
  for (unsigned index = 0; index < values.size(); ++index) {
    mlir::DictionaryAttr dict = index < old.size() ? old[index] : nullptr;
    mlir::NamedAttrList list(dict);
    if (values[index])
      list.set(name, values[index]);
    all.push_back(list.getDictionary(context));
  }
  return all;
}

/// Sets an attribute of all arguments. Setting them one by one copies the list
/// of all arguments for each, and a training step has thousands.
inline void setArgAttrs(mlir::FunctionOpInterface function,
                        llvm::StringRef name,
                        llvm::ArrayRef<mlir::Attribute> values) {
  llvm::SmallVector<mlir::DictionaryAttr> old;
  function.getAllArgAttrs(old);
  function.setAllArgAttrs(withAttr(function->getContext(), old, name, values));
}

/// The same for results.
inline void setResultAttrs(mlir::FunctionOpInterface function,
                           llvm::StringRef name,
                           llvm::ArrayRef<mlir::Attribute> values) {
  llvm::SmallVector<mlir::DictionaryAttr> old;
  function.getAllResultAttrs(old);
  function.setAllResultAttrs(
      withAttr(function->getContext(), old, name, values));
}

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_FUNCTIONATTRS_H
