//===- OptionsTest.cpp - The command line of pmrun ------------------------===//

#include "Fixture.h"
#include "host/Pace.h"
#include "pmrt/pmrt.h"

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;

namespace {

TEST(Options, AreRead) {
  Options options =
      parseOptions({"bundle/", "--weights=m", "--data=d.txt", "--steps=4",
                    "--threads=2", "--poison", "--save=out", "--save-every=2"});
  EXPECT_EQ(options.bundle, "bundle/");
  EXPECT_EQ(options.weights, "m");
  EXPECT_EQ(*options.steps, 4);
  EXPECT_EQ(options.threads, 2);
  EXPECT_TRUE(options.poison);
  EXPECT_EQ(options.saveEvery, 2);
}

TEST(Options, WrongOnesAreNamed) {
  auto parse = [](std::vector<std::string> extra) {
    extra.insert(extra.end(), {"b", "--weights=m", "--data=d.txt"});
    parseOptions(extra);
  };
  EXPECT_ERROR(parse({"--step=4"}), "'--step'", "--steps?");
  EXPECT_ERROR(parse({"--frobnicate"}), "'--frobnicate'", "--help");
  EXPECT_ERROR(parse({"--steps=four"}), "--steps is 'four'");
  EXPECT_ERROR(parse({"--steps=-1"}), "'-1'", "at least 0");
  EXPECT_ERROR(parse({"--threads=0"}), "at least 1");
  EXPECT_ERROR(parse({"--transport=tcp"}), "'tcp'", "threads and mpi");
  EXPECT_ERROR(parse({"--transport"}), "=threads or =mpi");
  EXPECT_ERROR(parse({"--deadline=soon"}), "--deadline is 'soon'");
  EXPECT_ERROR(parse({"--deadline=-1"}), "at least 0");
  EXPECT_ERROR(parse({"--report="}), "--report=FILE.json");
  EXPECT_ERROR(parse({"--compare-weights=x"}), "needs --compare");
  EXPECT_ERROR(parse({"--compare-tolerance=nan", "--compare=x"}),
               "--compare-tolerance is 'nan'");
  EXPECT_ERROR(parse({"--steps"}), "--steps=N");
  EXPECT_ERROR(parse({"--save"}), "--save=PATH");
  EXPECT_ERROR(parse({"--poison=yes"}), "takes no value");
  EXPECT_ERROR(parse({"other"}), "two bundles", "'other'");
  EXPECT_ERROR(parse({"--save-every=3"}), "needs --save");
  EXPECT_ERROR(parseOptions({}), "no bundle", "--help");
  EXPECT_ERROR(parseOptions({"b"}), "--weights is missing");
  EXPECT_ERROR(parseOptions({"b", "--weights=m"}), "--data is missing");
}

TEST(Pace, MillisecondsOfEachFragment) {
  Pace pace = Pace::parse("stage,F,I,W,B,U,transfer\n"
                          "0,1,2,0.5,,3,9\n"
                          "\n"
                          "1,4,0,0,7,0,9\n",
                          "costs.csv");
  EXPECT_EQ(pace.of(PMRT_FORWARD, 0), 1000000u);
  EXPECT_EQ(pace.of(PMRT_INPUT_GRADIENT, 0), 2000000u);
  EXPECT_EQ(pace.of(PMRT_WEIGHT_GRADIENT, 0), 500000u);
  EXPECT_EQ(pace.of(PMRT_BACKWARD, 0), 2500000u);
  EXPECT_EQ(pace.of(PMRT_UPDATE, 0), 3000000u);
  EXPECT_EQ(pace.of(PMRT_PROLOGUE, 0), 0u);
  EXPECT_EQ(pace.of(PMRT_REDUCE, 0), 0u);
  EXPECT_EQ(pace.of(PMRT_BACKWARD, 1), 7000000u);
  EXPECT_ERROR(pace.of(PMRT_FORWARD, 2), "stage 2 has no row among the 2");
}

TEST(Pace, WrongTablesAreNamed) {
  auto parse = [](const std::string &text) { Pace::parse(text, "costs.csv"); };
  EXPECT_ERROR(parse(""), "'costs.csv' has no row of a stage");
  EXPECT_ERROR(parse("stage,G\n0,1\n"), "the column 'G'", "known are stage, F");
  EXPECT_ERROR(parse("stage,F\n0\n"), "line 2", "has 1 cells", "2");
  EXPECT_ERROR(parse("stage,F\n0,fast\n"), "'F' in line 2", "'fast'");
  EXPECT_ERROR(parse("stage,F\n1,1\n"), "is for stage 1", "stage 0 is next");
  EXPECT_ERROR(parse("stage,F\n0,-1\n"), "'-1'", "milliseconds");
}

} // namespace
