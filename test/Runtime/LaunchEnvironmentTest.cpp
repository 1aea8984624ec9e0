//===- LaunchEnvironmentTest.cpp - What launchers tell a process ----------===//

#include "launch/LaunchEnvironment.h"

#include "core/Error.h"

#include <gtest/gtest.h>
#include <map>

using namespace pipemesh::runtime;

namespace {

using Variables = std::map<std::string, std::string>;

LaunchEnvironment read(const Variables &variables,
                       const std::string &rendezvous = "") {
  return launchEnvironment(
      [&](const char *name) -> const char * {
        auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      rendezvous);
}

std::string problem(const Variables &variables,
                    const std::string &rendezvous = "") {
  try {
    read(variables, rendezvous);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

Variables with(Variables variables, const Variables &changes) {
  for (const auto &[name, value] : changes)
    if (value == "-")
      variables.erase(name);
    else
      variables[name] = value;
  return variables;
}

const Variables torchrun = {{"RANK", "5"},
                            {"WORLD_SIZE", "8"},
                            {"LOCAL_RANK", "1"},
                            {"MASTER_ADDR", "node1"},
                            {"MASTER_PORT", "29500"}};
const Variables srun = {{"SLURM_PROCID", "9"},
                        {"SLURM_NTASKS", "16"},
                        {"SLURM_LOCALID", "1"},
                        {"SLURM_JOB_ID", "1234"},
                        {"SLURM_STEP_ID", "2"},
                        {"SLURM_STEP_NODELIST", "gpu[007-008]"},
                        {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"}};

} // namespace

TEST(LaunchEnvironments, WithoutALauncherThereIsOneRank) {
  LaunchEnvironment alone = read({});
  EXPECT_EQ(alone.launcher, LaunchEnvironment::None);
  EXPECT_EQ(alone.size, 1);
  EXPECT_EQ(alone.localRank, 0);
  EXPECT_FALSE(alone.meetsOverTcp());
}

TEST(LaunchEnvironments, OfMpirunAreRead) {
  LaunchEnvironment one = read({{"OMPI_COMM_WORLD_RANK", "3"},
                                {"OMPI_COMM_WORLD_SIZE", "4"},
                                {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                {"SLURM_PROCID", "0"},
                                {"SLURM_NTASKS", "2"}});
  EXPECT_EQ(one.launcher, LaunchEnvironment::Mpirun);
  EXPECT_EQ(one.rank, 3);
  EXPECT_EQ(one.size, 4);
  EXPECT_EQ(one.localRank, 1);
  EXPECT_FALSE(one.meetsOverTcp());
}

TEST(LaunchEnvironments, OfTorchrunAreRead) {
  LaunchEnvironment one = read(torchrun);
  EXPECT_EQ(one.launcher, LaunchEnvironment::Torchrun);
  EXPECT_EQ(one.rank, 5);
  EXPECT_EQ(one.size, 8);
  EXPECT_EQ(one.localRank, 1);
  EXPECT_EQ(one.host, "node1");
  EXPECT_EQ(one.port, 29501);
  EXPECT_TRUE(one.meetsOverTcp());
  one = read(with(torchrun, {{"MASTER_ADDR", "-"}, {"LOCAL_RANK", "-"}}),
             "other:1234");
  EXPECT_EQ(one.host, "other");
  EXPECT_EQ(one.port, 1234);
  EXPECT_EQ(one.localRank, -1);
  one = read(torchrun, "[fe80::1]:77");
  EXPECT_EQ(one.host, "fe80::1");
  EXPECT_EQ(one.port, 77);
}

TEST(LaunchEnvironments, OfSrunAreRead) {
  LaunchEnvironment one = read(srun);
  EXPECT_EQ(one.launcher, LaunchEnvironment::Srun);
  EXPECT_EQ(one.rank, 9);
  EXPECT_EQ(one.size, 16);
  EXPECT_EQ(one.localRank, 1);
  EXPECT_EQ(one.host, "gpu007");
  EXPECT_EQ(one.port, 15000 + (1234 * 31 + 2) % 15000);
  // Another step of the job has another port, and is another job.
  LaunchEnvironment other = read(with(srun, {{"SLURM_STEP_ID", "3"}}));
  EXPECT_NE(other.port, one.port);
  EXPECT_NE(other.job, one.job);
  // The step may have fewer tasks than the job.
  EXPECT_EQ(read(with(srun, {{"SLURM_STEP_NUM_TASKS", "12"}})).size, 12);
  EXPECT_EQ(read(with(srun, {{"SLURM_STEP_NODELIST", "-"}})).host, "10.0.0.1");
}

TEST(LaunchEnvironments, OfABatchScriptIsNoLaunch) {
  EXPECT_EQ(read(with(srun, {{"SLURM_STEP_ID", "-"}})).launcher,
            LaunchEnvironment::None);
}

TEST(LaunchEnvironments, FirstMachineOfAList) {
  EXPECT_EQ(firstMachine("node1"), "node1");
  EXPECT_EQ(firstMachine("node1,node2"), "node1");
  EXPECT_EQ(firstMachine("node[003-008,12],other"), "node003");
  EXPECT_EQ(firstMachine("r[1-2]n[04-05]"), "r1n04");
  EXPECT_EQ(firstMachine("r[7]-ib,x"), "r7-ib");
  EXPECT_EQ(firstMachine("node["), "");
  EXPECT_EQ(firstMachine("node[a]"), "");
  EXPECT_EQ(firstMachine(""), "");
}

TEST(LaunchEnvironments, ThatMakeNoSenseAreNamed) {
  EXPECT_EQ(
      problem(with(torchrun, {{"RANK", "five"}})),
      "the environment has RANK='five', which is no whole number; start pmrun "
      "by mpirun, srun or torchrun, or unset it");
  EXPECT_EQ(problem(with(torchrun, {{"RANK", "8"}})),
            "the environment has RANK=8, but WORLD_SIZE=8: ranks count from 0");
  EXPECT_EQ(problem(with(torchrun, {{"WORLD_SIZE", "0"}})),
            "the environment has WORLD_SIZE=0, but it must be 1 to 16777216");
  EXPECT_EQ(
      problem(with(torchrun, {{"WORLD_SIZE", "-"}})),
      "the environment has RANK=5, but no WORLD_SIZE; start pmrun by torchrun, "
      "or unset it");
  EXPECT_EQ(problem(with(torchrun, {{"MASTER_PORT", "70000"}})),
            "the environment has MASTER_PORT=70000, but it must be 1 to 65534");
  EXPECT_EQ(problem(with(torchrun, {{"MASTER_ADDR", "-"}})),
            "the environment has RANK=5 and WORLD_SIZE=8, but no MASTER_ADDR; "
            "set it, "
            "or give --rendezvous=HOST:PORT");
  EXPECT_EQ(
      problem(with(torchrun, {{"LOCAL_RANK", "6"}})),
      "the environment has LOCAL_RANK=6, but RANK=5, which counts the ranks of "
      "all machines");
  EXPECT_EQ(
      problem(with(srun, {{"SLURM_NTASKS", "-"}})),
      "the environment has SLURM_PROCID=9, but no SLURM_NTASKS; start pmrun by "
      "srun, or unset it");
  EXPECT_EQ(
      problem(with(srun, {{"SLURM_STEP_NODELIST", "gpu["}})),
      "the environment has SLURM_STEP_NODELIST='gpu[', which names no machine; "
      "give --rendezvous=HOST:PORT");
  EXPECT_EQ(
      problem(with(srun, {{"SLURM_STEP_NODELIST", "-"},
                          {"SLURM_LAUNCH_NODE_IPADDR", "-"}})),
      "the environment has SLURM_PROCID=9 and SLURM_NTASKS=16, but neither "
      "SLURM_STEP_NODELIST nor SLURM_LAUNCH_NODE_IPADDR; give "
      "--rendezvous=HOST:PORT");
  for (const char *place : {"node1", "node1:", ":1", "node1:0", "node1:x"})
    EXPECT_EQ(problem(torchrun, place),
              cat("--rendezvous is '", place,
                  "', but must be HOST:PORT, such as node1:29501"));
  EXPECT_EQ(
      problem({}, "node1:7"),
      "--rendezvous=node1:7 is for processes of srun or torchrun, but the "
      "environment has neither SLURM_PROCID nor RANK; leave it out");
}
