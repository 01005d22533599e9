#include "suite/dist/launch.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "suite/base/errors.h"
#ifdef NORMBENCH_HAS_MPI
#include "suite/dist/mpi_communicator.h"
#endif
#ifdef NORMBENCH_HAS_NCCL
#include "suite/dist/nccl_communicator.h"
#endif

namespace normbench {
namespace {

int number(const char* name, const char* text) {
  int value = -1;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < 0)
    throw UserError(
        {.what = "the launcher's environment is not understood",
         .where = name,
         .found = text,
         .expected = "a number of at least 0",
         .todo = "start with mpirun or srun, or unset the variable to run as one rank"});
  return value;
}

}  // namespace

Launch read_launch(const std::function<const char*(const char*)>& variable) {
  struct Names {
    const char *rank, *size, *local_rank;
  };
  // srun also sets Slurm's variables around an mpirun of its own, so the inner launchers come
  // first.
  constexpr Names kLaunchers[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
      {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
      {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"}};
  for (const Names& names : kLaunchers) {
    const char* rank = variable(names.rank);
    const char* size = variable(names.size);
    if (rank == nullptr || size == nullptr) continue;
    Launch launch;
    launch.rank = number(names.rank, rank);
    launch.size = number(names.size, size);
    if (const char* local = variable(names.local_rank))
      launch.local_rank = number(names.local_rank, local);
    if (launch.rank >= launch.size)
      throw UserError(
          {.what = "the launcher's environment contradicts itself",
           .where = names.rank,
           .found = std::string(rank) + " of " + size,
           .expected = "a rank below the size",
           .todo = "start with mpirun or srun, or unset the variables to run as one rank"});
    return launch;
  }
  return {};
}

Launch read_launch() {
  return read_launch([](const char* name) -> const char* { return std::getenv(name); });
}

std::unique_ptr<Communicator> launched_communicator(const Launch& launch, torch::DeviceType device,
                                                    const std::string& rendezvous) {
  if (launch.size == 1) return single_communicator();
  if (device == torch::kCUDA) {
#ifdef NORMBENCH_HAS_NCCL
    return nccl_communicator(launch.rank, launch.size, launch.local_rank, rendezvous);
#else
    throw UserError({.what = "several ranks on GPUs need NCCL, which this build does not have",
                     .todo = "build with the preset cuda"});
#endif
  }
#ifdef NORMBENCH_HAS_MPI
  return mpi_communicator();
#else
  throw UserError({.what = "several ranks on CPUs need MPI, which this build does not have",
                   .todo = "install libopenmpi-dev and openmpi-bin, and build again"});
#endif
}

}  // namespace normbench
