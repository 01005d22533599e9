// The communicator of a program that runs alone: every sum is the value itself.
#include "suite/dist/communicator.h"

namespace normbench {
namespace {

class SingleCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void sum_(torch::Tensor& values) override {}
  void broadcast_(torch::Tensor& values, int root) override {}
  void barrier() override {}
};

}  // namespace

std::unique_ptr<Communicator> single_communicator() {
  return std::make_unique<SingleCommunicator>();
}

}  // namespace normbench
