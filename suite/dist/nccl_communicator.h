// Ranks on GPUs, one device each, over NCCL on the current stream. Compiled only in the preset
// cuda.
#pragma once

#include <memory>
#include <string>

#include "suite/dist/communicator.h"

namespace normbench {

/// Makes `local_rank` the current device, then meets the other ranks: rank 0 writes NCCL's unique
/// id to the file `rendezvous`, the others read it there. Throws MachineError without a device or
/// when a rank does not come. sum_ gathers and adds in rank order, because NCCL's own sum depends
/// on the topology; work is queued, not awaited.
std::unique_ptr<Communicator> nccl_communicator(int rank, int size, int local_rank,
                                                const std::string& rendezvous);

}  // namespace normbench
