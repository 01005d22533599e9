// Ranks that train one model together. Processes are launched by mpirun or srun; a program started
// alone is one rank.
#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

namespace normbench {

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Sum over ranks in rank order, in place: the same bits on every rank and in every run.
  virtual void sum_(torch::Tensor& values) = 0;
  virtual void broadcast_(torch::Tensor& values, int root) = 0;
  virtual void barrier() = 0;
};

/// One process, one rank.
std::unique_ptr<Communicator> single_communicator();

}  // namespace normbench
