//===- MpiCollectives.cpp - Collectives and transfers between processes ---===//
//
// Run under mpirun by MpiTest. With an argument, the last rank brings another
// collective than the others.
//
//===----------------------------------------------------------------------===//

#include "CollectiveCases.h"
#include "mpi/MpiTransport.h"

#include <cstdio>

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;

int main(int argc, char **) {
  std::shared_ptr<Transport> transport = startMpi();
  int64_t rank = transport->localRanks().front();
  auto size = static_cast<int64_t>(transport->exchange("").size());
  std::vector<int64_t> everyone, alone;
  for (int64_t other = 0; other < size; ++other)
    everyone.push_back(other);
  Group &group = transport->group(everyone, /*lane=*/0);
  std::string problem;
  try {
    if (argc > 1) {
      CollectiveCase odd = allReduceCase(size, {rank == size - 1 ? 9u : 8u});
      runCase(odd, group, rank, 1);
      problem = "nobody noticed";
    }
    for (const CollectiveCase &which : collectiveCases(size))
      if (problem.empty())
        problem = runCase(which, group, rank, 1);
    // A ring of transfers, two rounds ahead of what is received; the large
    // ones do not leave at once.
    for (size_t count : {3u, 300000u}) {
      Channel to{rank, (rank + 1) % size, 4};
      Channel from{(rank + size - 1) % size, rank, 4};
      for (uint32_t round : {1u, 2u}) {
        std::vector<float> values = memberValues(count, 100 * rank + round);
        transport->send(to, {count * sizeof(float), 0, round, PMRT_F32},
                        values.data());
      }
      for (uint32_t round : {1u, 2u}) {
        std::vector<float> values(count);
        transport->receive(from, {count * sizeof(float), 0, round, PMRT_F32},
                           values.data(), {});
        if (values != memberValues(count, 100 * from.sender + round))
          problem = cat("transfer ", round, " of ", count, " is wrong");
      }
    }
    // What nobody receives is thrown away.
    float lost = 1, kept = 2, got = 0;
    Channel next{rank, (rank + 1) % size, 7};
    Channel previous{(rank + size - 1) % size, rank, 7};
    Parcel parcel{sizeof(lost)};
    transport->send(next, parcel, &lost);
    transport->reset();
    transport->send(next, parcel, &kept);
    transport->receive(previous, parcel, &got, {});
    if (got != kept)
      problem = "a message of before the reset is still there";
    std::optional<Objection> objection;
    if (rank > 0)
      objection = Objection{rank, 0.5f, rank == 1, "loss"};
    uint64_t waited = 0;
    objection = transport->vote(rank, objection, {}, waited);
    if (size > 1 && (!objection || objection->rank != (size > 2 ? 2 : 1) ||
                     objection->value != 0.5f || objection->buffer != "loss"))
      problem = "the vote does not name the first rank whose loss objects";
  } catch (const Error &error) {
    problem = error.what();
  }
  for (const std::string &text : transport->exchange(problem))
    if (!text.empty() && rank == 0)
      std::printf("%s\n", text.c_str());
  if (rank == 0)
    std::printf("checked %ld ranks\n", long(size));
  std::fflush(nullptr);
  finishMpi(*transport);
  return 0;
}
