//===- ActionListsTest.cpp - PyTorch's text form --------------------------===//

#include "Fixture.h"

using namespace pipemesh::schedule;

TEST(ActionLists, ReadsIdleCellsPairsAndQuotes) {
  std::vector<std::string> remarks;
  Schedule schedule = take(parseActionLists(
      "0F0,,0F1,\"1F0\",(1F1;1B0)OVERLAP_F_B,1I1,0B0,, 0B1 ,1W1\r\n", remarks));
  EXPECT_EQ(print(schedule.lists[0]),
            "0F0 0F1 1F0 (1F1;1B0)OVERLAP_F_B 1I1 0B0 0B1 1W1");
  EXPECT_EQ(schedule.microBatches, 2);
  EXPECT_EQ(schedule.rankOfStage, (std::vector<int32_t>{0, 0}));
  EXPECT_TRUE(remarks.empty());
}

TEST(ActionLists, RowsPlaceTheStages) {
  Schedule schedule = parse("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n");
  EXPECT_EQ(schedule.rankOfStage, (std::vector<int32_t>{0, 1, 1, 0}));
}

TEST(ActionLists, IgnoresCommunicationWithARemark) {
  std::vector<std::string> remarks;
  Schedule schedule =
      take(parseActionLists("0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,"
                            "0RESHARD\n1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0\n",
                            remarks));
  EXPECT_EQ(print(schedule.lists[0]), "0F0 0B0");
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0],
            "ignored 8 cells of communication and of parameter sharding (2 "
            "UNSHARD, 1 SEND_F, 1 RECV_B, 1 REDUCE_GRAD, 1 RESHARD, 1 RECV_F, "
            "1 SEND_B): both follow from the program");
}

TEST(ActionLists, PairsAreReadBetweenCommunicationAndSharding) {
  // Lines as Python's csv writes them, with all cells that a schedule with
  // sharded parameters and its transfers has.
  std::vector<std::string> remarks;
  Schedule schedule = take(parseActionLists(
      "0UNSHARD,3UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,3RECV_F0,3F0,3B0,3SEND_B0,"
      "3RECV_F1,0RECV_B0,(3F1;0B0)OVERLAP_F_B,3I1,3SEND_B1,3W1,3REDUCE_GRAD,"
      "3RESHARD,0RECV_B1,0B1,0REDUCE_GRAD,0RESHARD\r\n"
      "1UNSHARD,2UNSHARD,1RECV_F0,1F0,2F0,2SEND_F0,1RECV_F1,1F1,2RECV_B0,"
      "(2F1;2B0)OVERLAP_F_B,2SEND_F1,1B0,1SEND_B0,2RECV_B1,2B1,1B1,1SEND_B1,"
      "1REDUCE_GRAD,2REDUCE_GRAD,1RESHARD,2RESHARD\r\n",
      remarks));
  EXPECT_EQ(print(schedule.lists[0]),
            "0F0 0F1 3F0 3B0 (3F1;0B0)OVERLAP_F_B 3I1 3W1 0B1");
  EXPECT_EQ(print(schedule.lists[1]),
            "1F0 2F0 1F1 (2F1;2B0)OVERLAP_F_B 1B0 2B1 1B1");
  EXPECT_EQ(schedule.rankOfStage, (std::vector<int32_t>{0, 1, 1, 0}));
  EXPECT_EQ(schedule.microBatches, 2);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0],
            "ignored 28 cells of communication and of parameter sharding (4 "
            "UNSHARD, 4 SEND_F, 4 RECV_F, 4 SEND_B, 4 RECV_B, 4 REDUCE_GRAD, 4 "
            "RESHARD): both follow from the program");
}

static std::string refuse(llvm::StringRef text) {
  std::vector<std::string> remarks;
  return messageOf(parseActionLists(text, remarks));
}

TEST(ActionLists, RefusesWithTheLineAndTheCell) {
  std::string rest =
      "' is no action; actions are a stage, one of F, I, W, B and "
      "a micro-batch, such as 2F0, or a pair such as "
      "(0F3;3B1)OVERLAP_F_B";
  EXPECT_EQ(refuse("0F0,0B0\n1F0,1X0\n"), "line 2: '1X0" + rest);
  EXPECT_EQ(refuse("F0\n"), "line 1: 'F0" + rest);
  EXPECT_EQ(refuse("0F\n"), "line 1: '0F" + rest);
  EXPECT_EQ(refuse("0F0x\n"), "line 1: '0F0x" + rest);
  EXPECT_EQ(refuse("0F99999999999\n"), "line 1: '0F99999999999" + rest);
  EXPECT_EQ(refuse("0F0,(0B0)OVERLAP_F_B\n"),
            "line 1: '(0B0)OVERLAP_F_B' is no pair of actions such as "
            "(0F3;3B1)OVERLAP_F_B");
  EXPECT_EQ(refuse("0F0,(0B0;0SEND_F0)OVERLAP_F_B\n"),
            "line 1: '(0B0;0SEND_F0)OVERLAP_F_B' overlaps what is no "
            "computation");
}

TEST(ActionLists, RefusesWhatIsNoSchedule) {
  EXPECT_EQ(refuse(""), "no row has an action");
  EXPECT_EQ(
      refuse("0F0,0B0\n0F1,0B1\n"),
      "stage 0 is in the rows of ranks 0 and 1; a stage lies on one rank");
  EXPECT_EQ(refuse("0F0,0B0\n2F0,2B0\n"),
            "no row has stage 1, but there is a stage 2");
  EXPECT_EQ(refuse("0F0,0B0\n\n1F0,1B0\n"), "the row of rank 1 has no action");
  EXPECT_EQ(refuse("0F0,0F2,0B0,0B2\n"), "no rank runs 0F1");
  EXPECT_EQ(refuse("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n"),
            "ranks wait for each other: rank 0 at 0B0 for 1B0, rank 1 at 1F1 "
            "for 0F1");
}
