//===- StartCuda.cpp - Ranks on GPUs for a job ----------------------------===//

#include "cuda/StartCuda.h"

#include "cuda/CudaRank.h"
#include "cuda/Topology.h"

#include <cstdio>
#include <cstring>

namespace pipemesh::cuda {

using namespace runtime;

/// The first version that lets ranks share a GPU (NCCL release notes, 2.30).
static constexpr int sharesGpus = 23000;

namespace {

/// Lives as long as the ranks that it makes.
struct Shared {
  Shared(const Bundle &bundle, const std::vector<const pmrt_role *> &roles)
      : divisions(divisionsOf(roles, bundle.manifest().mesh)) {}

  Libraries libraries;
  std::vector<Division> divisions;
  std::vector<Plan> plans;
  std::unique_ptr<CudaJob> job;
  int devices = 1;
  std::atomic<int> next{0}; ///< among the ranks of this process
};

} // namespace

/// Whether NCCL is to be used, which all processes must decide alike.
static bool usesNccl(const Shared &shared, int64_t localRanks, Transport *transport,
                     const StartOptions &options) {
  if (options.meeting == Meeting::Staged)
    return false;
  const Libraries &libraries = shared.libraries;
  if (!libraries.hasNccl()) {
    if (options.meeting == Meeting::Nccl)
      fail("--meet=nccl: NCCL cannot be loaded (", libraries.ncclProblem,
           "); install it, or take --meet=staged");
  }
  int version = 0;
  if (libraries.hasNccl())
    libraries.checkNccl(libraries.ncclGetVersion(&version), nullptr, "ncclGetVersion");
  bool isShared = options.localRank + localRanks > shared.devices;
  bool own = libraries.hasNccl() && (!isShared || version >= sharesGpus);
  bool all = own;
  if (transport)
    for (const std::string &text : transport->exchange(own ? "nccl" : "staged"))
      all &= text == "nccl";
  return all || options.meeting == Meeting::Nccl;
}

/// Says where the ranks of this process are not connected as was assumed.
static void warnOfTopology(const Shared &shared, const Bundle &bundle,
                           Transport *transport, const StartOptions &options) {
  std::vector<PlacedRank> ranks;
  int64_t count = transport ? static_cast<int64_t>(transport->localRanks().size())
                            : bundle.manifest().mesh.ranks();
  for (int64_t i = 0; i < count; ++i)
    ranks.push_back({transport ? transport->localRanks()[i] : i,
                     static_cast<int>((options.localRank + i) % shared.devices),
                     transport ? options.localRank + i : -1});
  std::string warning = compareTopology(shared.libraries, bundle.manifest(), ranks);
  if (!warning.empty())
    std::fprintf(stderr, "pmrun: warning: %s\n", warning.c_str());
}

static ncclUniqueId uniqueId(const Libraries &libraries, Transport *transport) {
  ncclUniqueId id{};
  bool isFirst = !transport || transport->isFirst();
  if (isFirst)
    libraries.checkNccl(libraries.ncclGetUniqueId(&id), nullptr, "ncclGetUniqueId");
  if (!transport)
    return id;
  std::string own(isFirst ? std::string(id.internal, sizeof(id.internal)) : "");
  std::string first = transport->exchange(own).front();
  if (first.size() != sizeof(id.internal))
    fail("rank 0 has sent no NCCL id");
  std::memcpy(id.internal, first.data(), sizeof(id.internal));
  return id;
}

/// The proof knows the arena; copies of sends are the plan's.
static void checkMemory(const Bundle &bundle, const std::vector<Plan> &plans) {
  uint64_t limit = bundle.manifest().memoryLimit;
  auto microBatches = static_cast<uint64_t>(bundle.manifest().mesh.microBatches());
  for (size_t r = 0; r < plans.size() && limit; ++r) {
    DeviceMemory memory(bundle.role(r), microBatches, plans[r]);
    if (memory.bytes > limit)
      fail("a rank of role ", r, " takes ", memory.bytes, " bytes of its GPU (arena ",
           bundle.role(r).arena_bytes, ", copies of what is sent ",
           plans[r].copyBytes(), "), but each rank has ", limit,
           "; compile it for more ranks or micro-batches, or with another schedule");
  }
}

/// Opens the libraries and plans the launches.
static std::shared_ptr<Shared> prepare(const Bundle &bundle,
                                       const StartOptions &options) {
  std::vector<const pmrt_role *> roles;
  for (size_t r = 0; r < bundle.manifest().roles.size(); ++r)
    roles.push_back(&bundle.role(r));
  auto shared = std::make_shared<Shared>(bundle, roles);
  shared->devices = countDevices(shared->libraries);
  for (const pmrt_role *role : roles)
    for (uint32_t b = 0; b < role->num_bodies; ++b)
      for (uint64_t i = 0; i < role->bodies[b].num_instructions; ++i)
        // Its absence is told before ranks begin.
        if (role->bodies[b].instructions[i].opcode == PMRT_OP_ATTENTION)
          shared->libraries.cudnn();
  shared->plans = planRoles(roles, bundle.manifest().roles);
  checkMemory(bundle, shared->plans);
  for (size_t r = 0; r < roles.size(); ++r)
    if (options.capture && !shared->plans[r].captureProblem().empty())
      fail("--capture: a step of role ", r, " cannot be captured as a graph: ",
           shared->plans[r].captureProblem(), "; run it without");
  return shared;
}

RankFactory startCuda(const Bundle &bundle, Transport *transport,
                      const StartOptions &options) {
  std::shared_ptr<Shared> shared;
  auto work = [&] { shared = prepare(bundle, options); };
  if (transport)
    agree(*transport, work);
  else
    work();
  int64_t local = transport ? static_cast<int64_t>(transport->localRanks().size())
                            : bundle.manifest().mesh.ranks();
  bool nccl = usesNccl(*shared, local, transport, options);
  if (options.capture && !nccl)
    fail("--capture: a step cannot be captured as a graph where data goes through the "
         "host; run it without, or with a GPU for each rank");
  warnOfTopology(*shared, bundle, transport, options);
  shared->job = std::make_unique<CudaJob>(
      CudaJob{shared->libraries, shared->divisions, shared->plans, {}, {}});
  shared->job->options.capture = options.capture;
  shared->job->options.staged = !nccl;
  shared->job->options.products.tf32 = options.tf32;
  shared->job->options.algorithms = options.algorithms;
  if (nccl)
    shared->job->id = uniqueId(shared->libraries, transport);
  return [shared, first = options.localRank](
             const Program &program, const Mesh &mesh, int64_t rank,
             Transport &transport, std::vector<Group *> groups, bool /*votes*/,
             const HostOptions &host, const std::atomic<bool> &aborted,
             int spin) -> std::unique_ptr<Rank> {
    int device = (first + shared->next.fetch_add(1)) % shared->devices;
    return std::make_unique<CudaRank>(*shared->job, device, program, mesh, rank,
                                      transport, std::move(groups), host, aborted,
                                      spin);
  };
}

} // namespace pipemesh::cuda
