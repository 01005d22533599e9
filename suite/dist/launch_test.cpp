#include "suite/dist/launch.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "suite/base/errors.h"

namespace normbench {
namespace {

Launch launch_in(const std::map<std::string, std::string>& environment) {
  return read_launch([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launch, AProgramStartedAloneIsOneRank) {
  const Launch launch = launch_in({});
  EXPECT_EQ(launch.rank, 0);
  EXPECT_EQ(launch.size, 1);
}

TEST(Launch, EachLauncherIsUnderstood) {
  for (const auto& [rank, size, local] :
       {std::tuple{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
        std::tuple{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
        std::tuple{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"}}) {
    const Launch launch = launch_in({{rank, "5"}, {size, "8"}, {local, "1"}});
    EXPECT_EQ(launch.rank, 5) << rank;
    EXPECT_EQ(launch.size, 8) << rank;
    EXPECT_EQ(launch.local_rank, 1) << rank;
  }
}

TEST(Launch, MpirunInsideSrunCounts) {
  const Launch launch = launch_in(
      {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "4"}});
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.size, 4);
}

TEST(Launch, NonsenseInTheEnvironmentIsRefused) {
  EXPECT_THROW(launch_in({{"PMI_RANK", "first"}, {"PMI_SIZE", "4"}}), UserError);
  EXPECT_THROW(launch_in({{"PMI_RANK", "-1"}, {"PMI_SIZE", "4"}}), UserError);
  EXPECT_THROW(launch_in({{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}), UserError);
  EXPECT_THROW(launch_in({{"PMI_RANK", "0"}, {"PMI_SIZE", "0"}}), UserError);
  EXPECT_THROW(launch_in({{"PMI_RANK", ""}, {"PMI_SIZE", "4"}}), UserError);
}

TEST(SingleCommunicator, LeavesTheBitsAlone) {
  const auto alone = launched_communicator({}, torch::kCPU, "");
  auto values = torch::rand({7});
  const auto before = values.clone();
  alone->sum_(values);
  alone->broadcast_(values, 0);
  alone->barrier();
  EXPECT_EQ(alone->rank(), 0);
  EXPECT_EQ(alone->size(), 1);
  EXPECT_TRUE(torch::equal(values, before));
}

}  // namespace
}  // namespace normbench
