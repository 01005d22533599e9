#include "suite/dist/nccl_communicator.h"

#include <gtest/gtest.h>
#include <torch/torch.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "suite/base/errors.h"

namespace normbench {
namespace {

std::string meeting_point(const std::string& name) {
  return (std::filesystem::temp_directory_path() /
          ("normbench_nccl_" + name + std::to_string(getpid())))
      .string();
}

TEST(NcclCommunicator, WithoutADeviceItSaysSo) {
  if (torch::cuda::is_available()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_THROW(nccl_communicator(0, 1, 0, meeting_point("none")), MachineError);
}

// NCCL refuses two ranks on one device, so the order of sums is tested over MPI; the code is the
// same line by line.
TEST(NcclCommunicator, OneRankOnOneDeviceKeepsItsValues) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const std::string path = meeting_point("one");
  const auto ranks = nccl_communicator(0, 1, 0, path);
  auto values = torch::arange(
      20000003, torch::TensorOptions(torch::kCUDA).dtype(torch::kFloat));  // two pieces
  const auto before = values.clone();
  ranks->sum_(values);
  ranks->broadcast_(values, 0);
  auto column = torch::ones({4, 5}, torch::kCUDA).select(1, 3);
  ranks->sum_(column);
  ranks->barrier();
  EXPECT_TRUE(torch::equal(values, before));
  EXPECT_TRUE(column.eq(1).all().item<bool>());
  EXPECT_FALSE(std::filesystem::exists(path)) << "the meeting point is cleared away";
}

}  // namespace
}  // namespace normbench
