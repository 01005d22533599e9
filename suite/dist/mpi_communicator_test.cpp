// Started by mpirun with three ranks; every rank checks, and any wrong value ends the job with a
// message.
#include "suite/dist/mpi_communicator.h"

#include <torch/torch.h>

#include <iostream>
#include <string>

#include "suite/dist/launch.h"

namespace {

int failures = 0;

void expect(bool condition, const std::string& what) {
  if (condition) return;
  std::cerr << "FAILED: " << what << std::endl;
  ++failures;
}

}  // namespace

int main() {
  using namespace normbench;
  const Launch launch = read_launch();
  const auto ranks = launched_communicator(launch, torch::kCPU, "");
  const int r = ranks->rank();
  expect(ranks->size() == 3 && launch.size == 3, "mpirun -np 3 gives three ranks");
  expect(r == launch.rank, "the environment and MPI agree on the rank");
  if (ranks->size() != 3) return 1;

  // In fp32 (1e8 + 1) - 1e8 = 0, while (1e8 - 1e8) + 1 = 1: only rank order gives 0 here, and 1 for
  // the next.
  const float first[] = {1e8F, 1.F, -1e8F}, second[] = {1e8F, -1e8F, 1.F};
  auto ordered = torch::tensor({first[r], second[r]});
  ranks->sum_(ordered);
  expect(ordered[0].item<float>() == 0.F && ordered[1].item<float>() == 1.F,
         "the sum runs in rank order");

  // Longer than one piece (16 MiB) and not divisible by it. Small integers: exact whatever the
  // order.
  auto large = torch::arange(5000003, torch::kFloat).remainder_(1000).add_(r);
  ranks->sum_(large);
  const auto truth = torch::arange(5000003, torch::kFloat).remainder_(1000).mul_(3).add_(3);
  expect(torch::equal(large, truth), "a sum of several pieces is complete");

  auto whole = torch::full({4, 6}, r + 1, torch::kDouble);
  auto column = whole.select(1, 2);  // not contiguous
  ranks->sum_(column);
  expect(column.eq(6).all().item<bool>(), "a strided view is summed in place");
  expect(whole.sum().item<double>() == 4 * 6 + 20 * (r + 1), "and its neighbours are left alone");

  auto message = torch::full({3}, r, torch::kLong);
  ranks->broadcast_(message, 1);
  expect(message.eq(1).all().item<bool>(), "every rank gets what rank 1 had");
  auto strided = torch::full({2, 3}, r, torch::kFloat).t();
  ranks->broadcast_(strided, 2);
  expect(strided.eq(2).all().item<bool>(), "a transposed tensor is broadcast in place");

  auto empty = torch::empty({0});
  ranks->sum_(empty);
  ranks->barrier();
  return failures == 0 ? 0 : 1;
}
