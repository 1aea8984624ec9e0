//===- Flow.h - The ways through a body -----------------------------------===//

#ifndef PIPEMESH_RUNTIME_CHECK_FLOW_H
#define PIPEMESH_RUNTIME_CHECK_FLOW_H

#include "check/Tables.h"

namespace pipemesh::proof {

/// Instructions that run one after the other.
struct FlowBlock {
  uint64_t begin, end;
  /// The last of all numbers is the end of the body.
  std::vector<uint32_t> successors = {}, predecessors = {};
};

/// The blocks of a body, and an empty last one, its end.
class Flow {
public:
  /// Refuses a body with a loop that has no way out.
  Flow(const Role &role, uint32_t body);

  const std::vector<FlowBlock> &blocks() const { return list; }
  uint32_t exit() const { return static_cast<uint32_t>(list.size()) - 1; }
  /// Blocks that can be reached, each behind one of those before it.
  const std::vector<uint32_t> &order() const { return reached; }
  bool isStraight() const { return list.size() <= 2; }

  /// The blocks whose runs the switch at the end of `block` decides: what lies
  /// on a way from it up to where all ways meet again.
  std::vector<uint32_t> decidedBy(uint32_t block) const;
  bool endsInSwitch(uint32_t block) const;

private:
  void findBlocks();
  void orderBlocks();
  void findMeetings();

  const Role &role;
  uint32_t number;
  const pmrt_body &body;
  std::vector<FlowBlock> list;
  std::vector<uint32_t> reached;
  /// Where all ways from a block meet first.
  std::vector<uint32_t> meeting;
};

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_FLOW_H
