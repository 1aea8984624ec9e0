//===- TraceMaker.h - Traces of programs made in memory -------------------===//

#ifndef PIPEMESH_TEST_TRACE_TRACEMAKER_H
#define PIPEMESH_TEST_TRACE_TRACEMAKER_H

#include "Samples.h"
#include "trace/Prove.h"

#include <functional>
#include <nlohmann/json.hpp>

namespace pipemesh::trace::test {

using json = nlohmann::ordered_json;
using proof::test::SampleOptions;
using proof::test::SampleProgram;

struct MakeOptions {
  uint32_t steps = 1;
  bool captures = false; ///< one graph, launched in each step
  bool touches = false;  ///< as in compute mode
};

/// What a runtime would call for a program: each instruction on the stream of
/// its kind, transfers in one order that suits all roles, and an event where
/// another stream's work is needed and not yet waited for.
class MadeTrace {
public:
  MadeTrace(const SampleProgram &program, const MakeOptions &options = {});

  /// The lines of each rank; they may be changed.
  std::vector<std::vector<json>> ranks;
  runtime::Manifest manifest;

  /// The number (from 0) of the `which`-th line of a rank that fits.
  using Fits = std::function<bool(const json &)>;
  size_t find(uint32_t rank, const Fits &fits, size_t which = 0) const;
  size_t find(uint32_t rank, const std::string &call, size_t which = 0) const;
  void erase(uint32_t rank, size_t line) {
    ranks[rank].erase(ranks[rank].begin() + static_cast<long>(line));
  }
  void insert(uint32_t rank, size_t line, const json &object) {
    ranks[rank].insert(ranks[rank].begin() + static_cast<long>(line), object);
  }
  /// Moves a line to stand before another one.
  void move(uint32_t rank, size_t from, size_t to);

  /// The refusals as one text, a line for each; empty where it is proved.
  std::string refusals() const;
  Facts prove(Refusals &refusals) const;
  /// Writes the files of the ranks.
  void write(const std::string &directory) const;

private:
  const SampleProgram &program;
};

/// A folder that goes with the object.
class Folder {
public:
  Folder();
  ~Folder();
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  const std::string &path() const { return name; }

private:
  std::string name;
};

} // namespace pipemesh::trace::test

#endif // PIPEMESH_TEST_TRACE_TRACEMAKER_H
