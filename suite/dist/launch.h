// Which rank this process is, as mpirun or srun tells it in the environment, and the communicator
// that fits.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "suite/dist/communicator.h"

namespace normbench {

struct Launch {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // rank among the processes of this machine: the number of its GPU
};

/// Reads OpenMPI's, PMI's or Slurm's variables through `variable` (nullptr when unset); one rank
/// when none is set. Throws UserError when a variable holds no sensible number.
Launch read_launch(const std::function<const char*(const char*)>& variable);
Launch read_launch();  // from the process environment

/// One rank: the single communicator. On GPUs NCCL, on CPUs MPI; UserError when this build has
/// neither. `rendezvous` is a file on a file system that all ranks see; NCCL's ranks meet there
/// (unused otherwise).
std::unique_ptr<Communicator> launched_communicator(const Launch& launch, torch::DeviceType device,
                                                    const std::string& rendezvous);

}  // namespace normbench
