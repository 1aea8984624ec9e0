//===- DataTest.cpp - Token files, cut into batches -----------------------===//

#include "Fixture.h"

#include "core/Safetensors.h"

#include <numeric>

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;

namespace {

using Ids = std::vector<int32_t>;

TEST(Data, WindowsOfTextFollowEachOther) {
  TemporaryFolder folder;
  writeFile(folder / "a.txt", "abcdefghijklmnopqrst"); // 20 bytes
  BatchShape shape{2, 3, 3, 256};
  auto data = openTokenData(folder / "a.txt", shape);
  ASSERT_EQ(data->steps(), 2);
  Batch batch = data->read(1);
  EXPECT_EQ(batch.inputIds, (Ids{'i', 'j', 'k', 'm', 'n', 'o'}));
  // As many labels as inputs: the last position has no target.
  EXPECT_EQ(batch.labels, batch.inputIds);
  EXPECT_EQ(batch.countedTokens, 4);
}

TEST(Data, OneMoreLabelGivesEveryPositionOfAWindowATarget) {
  TemporaryFolder folder;
  writeFile(folder / "a.txt", "abcdefgh");
  Batch batch = openTokenData(folder / "a.txt", {2, 3, 4, 256})->read(0);
  EXPECT_EQ(batch.inputIds, (Ids{'a', 'b', 'c', 'e', 'f', 'g'}));
  EXPECT_EQ(batch.labels, (Ids{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}));
  EXPECT_EQ(batch.countedTokens, 6);
}

TEST(Data, IdsOfTwoAndFourBytesAreLittleEndian) {
  TemporaryFolder folder;
  writeFile(folder / "a.u16", std::string("\1\2\3\0\5\1", 6));
  writeFile(folder / "a.u32", std::string("\1\2\0\0\3\0\0\0\5\1\0\0", 12));
  BatchShape shape{1, 2, 2, 600};
  EXPECT_EQ(openTokenData(folder / "a.u16", shape)->read(0).inputIds,
            (Ids{0x201, 3}));
  EXPECT_EQ(openTokenData(folder / "a.u32", shape)->read(0).inputIds,
            (Ids{0x201, 3}));
}

TEST(Data, LabelsOfATensorFileAreThoseOfItsLibrary) {
  TemporaryFolder folder;
  Ids ids = {1, 2, 3, 4, 5, 6, 7, 8}, labels = {-100, 2, -100, 4, 5, 6, 7, 8};
  auto write = [&](const std::string &name, bool withLabels) {
    std::vector<TensorToWrite> tensors = {{"input_ids", "I32", {1, 2, 4}}};
    if (withLabels)
      tensors.push_back({"labels", "I32", {1, 2, 4}});
    writeSafetensors(folder / name, tensors, {},
                     [&](size_t i) { return i ? labels.data() : ids.data(); });
    return folder / name;
  };
  Batch batch =
      openTokenData(write("a.safetensors", true), {2, 4, 4, 10})->read(0);
  EXPECT_EQ(batch.inputIds, ids);
  EXPECT_EQ(batch.labels, labels);
  EXPECT_EQ(batch.countedTokens, 5); // 2, 4 and 6, 7, 8
  batch = openTokenData(write("b.safetensors", false), {2, 4, 4, 10})->read(0);
  EXPECT_EQ(batch.labels, ids);
  EXPECT_EQ(batch.countedTokens, 6);
  // A graph with one more column gets an uncounted one.
  batch = openTokenData(folder / "a.safetensors", {2, 4, 5, 10})->read(0);
  EXPECT_EQ(batch.labels, (Ids{-100, 2, -100, 4, -100, 5, 6, 7, 8, -100}));
  EXPECT_EQ(batch.countedTokens, 5);

  labels[6] = 10;
  EXPECT_ERROR(
      openTokenData(write("c.safetensors", true), {2, 4, 4, 10})->read(0),
      "labels[0, 1, 2] is 10", "has 10 ids", "-100");
  ids[1] = -100;
  EXPECT_ERROR(
      openTokenData(write("d.safetensors", false), {2, 4, 4, 10})->read(0),
      "input_ids[0, 0, 1] is -100");
}

TEST(Data, BadFilesAreRefusedInOneLine) {
  TemporaryFolder folder;
  BatchShape shape{2, 3, 3, 100};
  auto open = [&](const char *name) { openTokenData(folder / name, shape); };
  EXPECT_ERROR(open("none.txt"), "cannot read data", "none.txt");
  writeFile(folder / "a.csv", "1,2");
  EXPECT_ERROR(open("a.csv"), "suffix '.csv'", ".safetensors");
  writeFile(folder / "a.txt", "abc");
  EXPECT_ERROR(open("a.txt"), "a.txt", "too short", "2 sequences of 3+1");
  writeFile(folder / "a.u16", "abc");
  EXPECT_ERROR(open("a.u16"), "3 bytes", "not a multiple of 2");
  std::filesystem::create_directory(folder / "b.txt");
  EXPECT_ERROR(open("b.txt"), "not a regular file");
  writeFile(folder / "c.txt", "\1\1\1\1\1\1x\1");
  EXPECT_ERROR(openTokenData(folder / "c.txt", shape)->read(0),
               "token 6 is 120", "vocabulary has 100");
  Ids ids(6, 1);
  auto data = [&](size_t) { return ids.data(); };
  writeSafetensors(folder / "a.safetensors", {{"ids", "I32", {1, 2, 3}}}, {},
                   data);
  EXPECT_ERROR(open("a.safetensors"), "no tensor 'input_ids'");
  writeSafetensors(folder / "b.safetensors", {{"input_ids", "I32", {1, 3, 2}}},
                   {}, data);
  EXPECT_ERROR(open("b.safetensors"), "shape [1, 3, 2]", "[steps, 2, 3]");
  writeSafetensors(folder / "c.safetensors", {{"input_ids", "F32", {1, 2, 3}}},
                   {}, data);
  EXPECT_ERROR(open("c.safetensors"), "type F32", "I32 is needed");
}

} // namespace
