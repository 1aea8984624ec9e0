//===- Pace.h - Fragments that sleep instead of computing -----------------===//

#ifndef PIPEMESH_RUNTIME_HOST_PACE_H
#define PIPEMESH_RUNTIME_HOST_PACE_H

#include <cstdint>
#include <string>
#include <vector>

namespace pipemesh::runtime {

/// How long each fragment takes, whatever it would compute: to measure what an
/// order of actions costs on ranks that share cores.
class Pace {
public:
  /// Reads a table of milliseconds, a row a stage, in the form that `pmcheck
  /// simulate --costs` reads: stage,F,I,W,B,U. An empty or missing B is I + W;
  /// columns of transfers and of memory are not looked at.
  static Pace parse(const std::string &text, const std::string &file);

  /// Nanoseconds of a fragment; the U of a rank's first stage is its update's.
  uint64_t of(uint32_t kind, uint32_t stage) const;

  /// Sleeps to a moment of the steady clock.
  static void sleepUntil(uint64_t nanoseconds);

private:
  struct Stage {
    double forward = 0, input = 0, weight = 0, backward = 0, update = 0;
  };
  std::vector<Stage> stages;
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_PACE_H
