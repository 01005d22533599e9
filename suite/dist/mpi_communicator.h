// Ranks on CPUs, over MPI. Compiled only where MPI is found.
#pragma once

#include <memory>

#include "suite/dist/communicator.h"

namespace normbench {

/// All ranks of MPI_COMM_WORLD. Starts MPI, and ends it when destroyed: make one, at the start of
/// the program. sum_ gathers and adds in rank order, because MPI's own sum may use any order:
/// size() times the memory of a piece.
std::unique_ptr<Communicator> mpi_communicator();

}  // namespace normbench
