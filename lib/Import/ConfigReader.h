//===- ConfigReader.h - Typed access to the fields of a config.json -------===//
//
// Reads fields by name with a type, remembers which were read, and emits at
// most one error, at the line of the field. After the first error all reads
// return their defaults, so that callers check once, at the end. Warnings are
// collected, since they are of no use beside an error.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_IMPORT_CONFIGREADER_H
#define PIPEMESH_LIB_IMPORT_CONFIGREADER_H

#include "mlir/IR/Diagnostics.h"
#include "pipemesh/Import/ModelConfig.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace pipemesh {

class ConfigReader {
public:
  /// `prefix` is the key of the object inside of the file's root; empty for
  /// the root itself.
  ConfigReader(mlir::MLIRContext *context, const llvm::json::Object &object,
               llvm::StringRef text, llvm::StringRef path,
               llvm::StringRef prefix = "")
      : context(context), object(object), text(text), path(path),
        prefix(prefix) {}

  /// Present, and not null.
  bool has(llvm::StringRef name);
  bool isNull(llvm::StringRef name);

  /// A whole number from `least` up to 2^31-1. A null is an error.
  int64_t integer(llvm::StringRef name, int64_t missing, int64_t least = 1);
  /// The same, where null means the default too.
  int64_t integerOrNull(llvm::StringRef name, int64_t missing, int64_t null,
                        int64_t least = 1);
  double number(llvm::StringRef name, double missing);
  /// Missing and null are nullopt.
  std::optional<double> optionalNumber(llvm::StringRef name);
  bool boolean(llvm::StringRef name, bool missing);
  std::string string(llvm::StringRef name, llvm::StringRef missing);

  void markRead(llvm::StringRef name) { wasRead.insert(name); }
  bool isRead(llvm::StringRef name) const { return wasRead.contains(name); }
  void error(llvm::StringRef name, const llvm::Twine &message);
  void warning(llvm::StringRef name, const llvm::Twine &message);
  void warnings(std::vector<ConfigWarning> more);
  std::vector<ConfigWarning> takeWarnings() { return std::move(collected); }
  bool failed() const { return anyError; }
  /// After an error that another reader of the same file has emitted.
  void setFailed() { anyError = true; }
  mlir::MLIRContext *getContext() const { return context; }

  std::pair<unsigned, unsigned> locate(llvm::StringRef name);
  /// "rope_scaling.factor"
  std::string fullName(llvm::StringRef name) const;
  const llvm::json::Object &fields() const { return object; }

private:
  const llvm::json::Value *get(llvm::StringRef name);

  mlir::MLIRContext *context;
  const llvm::json::Object &object;
  llvm::StringRef text, path, prefix;
  llvm::StringSet<> wasRead;
  bool anyError = false;
  std::vector<ConfigWarning> collected;
};

/// A value as it is quoted in a message, cut after 60 characters.
std::string quoteValue(const llvm::json::Value &value);

} // namespace pipemesh

#endif // PIPEMESH_LIB_IMPORT_CONFIGREADER_H
