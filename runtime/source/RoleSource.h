//===- RoleSource.h - The C++ source of one role --------------------------===//

#ifndef PIPEMESH_RUNTIME_SOURCE_ROLESOURCE_H
#define PIPEMESH_RUNTIME_SOURCE_ROLESOURCE_H

#include "core/Bundle.h"
#include "cuda/Divisions.h"
#include "cuda/Exchange.h"
#include "cuda/ProductForm.h"
#include "source/Names.h"

#include <map>

namespace pipemesh::source {

/// What a source is made from: the tables of a role and the plan of its
/// launches, which are those that the runtime goes by.
class RoleSource {
public:
  RoleSource(const runtime::Manifest &manifest,
             const std::vector<const pmrt_role *> &roles,
             const std::vector<cuda::Plan> &plans,
             const std::vector<cuda::Division> &divisions, uint32_t number);

  /// The text of the file. Throws an Error with the place where a role has
  /// something that a source does not.
  std::string text() const;

private:
  /// A fragment's instructions, and where each run of it lies among the
  /// launches.
  struct Body {
    uint32_t index = 0; ///< of the role
    std::string name;
    std::vector<size_t> firstLaunches; ///< one for each run
    size_t launches = 0;               ///< of a run
    /// Events of a launch of each run; -1 where a run has fewer. Those that
    /// differ between the runs are handed to the function.
    struct Event {
      std::vector<int32_t> ofRun;
      int32_t argument =
          -1; ///< place among what is handed over; -1: alike in all
      std::string text() const;
    };
    std::vector<std::vector<Event>> waits; ///< of each launch
    std::vector<Event> records;
    std::vector<std::vector<int32_t>> arguments; ///< of each run
    bool isOnce = false, usesMicroBatch = false;

    void handOver(Event &event);
  };

  // What is declared (SetupSource.cpp).
  std::string header() const;
  std::string constants() const;
  std::string buffers() const;
  std::string kernels() const;
  std::string productSpecs() const;
  std::string communicators() const;
  std::string setUp() const;
  std::string finish() const;

  // What is launched (BodySource.cpp).
  std::string bodies() const;
  std::string body(const Body &body) const;
  std::string step() const;
  std::string zeroAccumulators() const;
  std::string transfers(size_t first, size_t last) const;
  std::string instruction(const pmrt_instruction &instruction,
                          const cuda::Launch &launch, bool isOnce) const;
  std::string exchange(const pmrt_instruction &instruction,
                       const cuda::Launch &launch,
                       const std::vector<std::string> &places) const;
  std::string exchangeCall(const std::string &indent,
                           const cuda::ExchangeCall &call,
                           const std::vector<std::string> &places,
                           const std::string &communicator,
                           uint32_t stream) const;
  std::string place(const pmrt_operand &operand, bool isOnce) const;
  std::string slot(uint32_t buffer, uint32_t microBatch) const;
  std::string stream(uint32_t number) const;

  void findBodies();
  void findProducts();
  bool usesRanks() const { return mesh.ranks() > 1 || role.num_communicators; }

  const runtime::Manifest &manifest;
  const runtime::Mesh &mesh;
  const std::vector<const pmrt_role *> &roles;
  const pmrt_role &role;
  const runtime::RoleInfo &info;
  const cuda::Plan &plan;
  const std::vector<cuda::Division> &divisions;
  const uint32_t number;

  std::vector<int64_t> ranks; ///< of the role
  std::vector<std::string> bufferNames, kernelNames, streamNames, divisionNames;
  std::vector<size_t> divisionOfCommunicator; ///< of the role
  /// Products that cuBLASLt is told the same of are one.
  struct Product {
    pmrt_gemm gemm;
    cuda::ProductForm form;
  };
  std::vector<Product> products;
  std::map<const void *, size_t> productOf; ///< by the descriptor

  std::vector<Body> bodyList;
};

/// "f32 [8 x 64] = [8 x 32] [32 x 64]^T", with the batch where there is one.
std::string productText(const pmrt_gemm &gemm);

} // namespace pipemesh::source

#endif // PIPEMESH_RUNTIME_SOURCE_ROLESOURCE_H
