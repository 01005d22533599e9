#include "suite/dist/nccl_communicator.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include "suite/base/errors.h"
#include "suite/base/files.h"
#include "suite/base/log.h"

namespace normbench {
namespace {

#define NORMBENCH_NCCL(call)                                                       \
  do {                                                                             \
    if (const ncclResult_t code = (call); code != ncclSuccess)                     \
      throw MachineError({.what = "NCCL failed: " #call,                           \
                          .found = ncclGetErrorString(code),                       \
                          .todo = "set NCCL_DEBUG=INFO and start the run again"}); \
  } while (false)
#define NORMBENCH_NCCL_NOEXCEPT(call)                                                  \
  do {                                                                                 \
    if (const ncclResult_t code = (call); code != ncclSuccess)                         \
      log_warning(std::string("NCCL failed: " #call ": ") + ncclGetErrorString(code)); \
  } while (false)

constexpr int64_t kPieceBytes = 64 << 20;  // bounds the gather buffer: size() times this

ncclUniqueId meet(int rank, const std::filesystem::path& rendezvous) {
  ncclUniqueId id;
  if (rank == 0) {
    NORMBENCH_NCCL(ncclGetUniqueId(&id));
    write_file_atomically(rendezvous, std::string(id.internal, sizeof id.internal));
    return id;
  }
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!std::filesystem::exists(rendezvous)) {
    if (std::chrono::steady_clock::now() > limit)
      throw MachineError(
          {.what = "rank 0 did not come to the meeting point within 2 minutes",
           .where = rendezvous.string(),
           .todo = "use a file that all ranks see, one name a run, and look at rank 0's output"});
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const std::string bytes = read_file(rendezvous);
  if (bytes.size() != sizeof id.internal)
    throw MachineError({.what = "the meeting point holds no NCCL id",
                        .where = rendezvous.string(),
                        .found = std::to_string(bytes.size()) + " bytes",
                        .expected = std::to_string(sizeof id.internal) + " bytes",
                        .todo = "remove the file and start all ranks again"});
  std::memcpy(id.internal, bytes.data(), bytes.size());
  return id;
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(int rank, int size, int local_rank, const std::string& rendezvous)
      : rank_(rank), size_(size) {
    if (local_rank >= c10::cuda::device_count())
      throw MachineError({.what = "there is no GPU for this rank",
                          .found = std::to_string(c10::cuda::device_count()) + " devices",
                          .expected = "at least " + std::to_string(local_rank + 1),
                          .todo = "start as many ranks on this machine as it has GPUs"});
    c10::cuda::set_device(
        static_cast<c10::DeviceIndex>(local_rank));  // before NCCL looks at the current device
    const ncclUniqueId id = meet(rank, rendezvous);
    NORMBENCH_NCCL(ncclCommInitRank(&comm_, size, id, rank));
    if (rank == 0)
      std::filesystem::remove(
          rendezvous);  // every rank has read it, or the line above would still wait
  }
  ~NcclCommunicator() override { NORMBENCH_NCCL_NOEXCEPT(ncclCommDestroy(comm_)); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void sum_(torch::Tensor& values) override {
    torch::NoGradGuard no_grad;
    auto flat = checked(values).contiguous().view(-1);
    const int64_t piece = std::max<int64_t>(1, kPieceBytes / flat.element_size());
    for (int64_t begin = 0; begin < flat.numel(); begin += piece) {
      auto part = flat.narrow(0, begin, std::min(piece, flat.numel() - begin));
      auto all = torch::empty({size_, part.numel()}, part.options());
      NORMBENCH_NCCL(ncclAllGather(part.data_ptr(), all.data_ptr(), part.nbytes(), ncclUint8, comm_,
                                   stream()));
      part.copy_(all[0]);
      for (int r = 1; r < size_; ++r) part.add_(all[r]);
    }
    if (!values.is_contiguous()) values.copy_(flat.view(values.sizes()));
  }

  void broadcast_(torch::Tensor& values, int root) override {
    torch::NoGradGuard no_grad;
    TORCH_CHECK(root >= 0 && root < size_, "broadcast_: root ", root, " of ", size_, " ranks");
    auto flat = checked(values).contiguous().view(-1);
    NORMBENCH_NCCL(ncclBroadcast(flat.data_ptr(), flat.data_ptr(), flat.nbytes(), ncclUint8, root,
                                 comm_, stream()));
    if (!values.is_contiguous()) values.copy_(flat.view(values.sizes()));
  }

  void barrier() override {
    auto token = torch::ones({1}, torch::TensorOptions(torch::kCUDA).dtype(torch::kInt));
    sum_(token);
    C10_CUDA_CHECK(cudaStreamSynchronize(stream()));
  }

 private:
  static const torch::Tensor& checked(const torch::Tensor& values) {
    TORCH_CHECK(values.is_cuda(), "the NCCL communicator takes CUDA tensors, not ",
                values.device());
    return values;
  }
  static cudaStream_t stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

  int rank_, size_;
  ncclComm_t comm_ = nullptr;
};

}  // namespace

std::unique_ptr<Communicator> nccl_communicator(int rank, int size, int local_rank,
                                                const std::string& rendezvous) {
  return std::make_unique<NcclCommunicator>(rank, size, local_rank, rendezvous);
}

}  // namespace normbench
