#include "suite/dist/mpi_communicator.h"

#include <mpi.h>

#include <algorithm>
#include <string>

#include "suite/base/errors.h"
#include "suite/base/log.h"

namespace normbench {
namespace {

std::string mpi_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::string(text, static_cast<size_t>(length));
}

#define NORMBENCH_MPI(call)                                                            \
  do {                                                                                 \
    if (const int code = (call); code != MPI_SUCCESS)                                  \
      throw MachineError({.what = "MPI failed: " #call,                                \
                          .found = mpi_text(code),                                     \
                          .todo = "see which rank ended first; start the run again"}); \
  } while (false)
#define NORMBENCH_MPI_NOEXCEPT(call)                           \
  do {                                                         \
    if (const int code = (call); code != MPI_SUCCESS)          \
      log_warning("MPI failed: " #call ": " + mpi_text(code)); \
  } while (false)

constexpr int64_t kPieceBytes = 16 << 20;  // bounds the gather buffer, and MPI's counts are 32-bit

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    NORMBENCH_MPI(MPI_Init(nullptr, nullptr));
    NORMBENCH_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    NORMBENCH_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
    NORMBENCH_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size_));
  }
  ~MpiCommunicator() override { NORMBENCH_MPI_NOEXCEPT(MPI_Finalize()); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void sum_(torch::Tensor& values) override {
    torch::NoGradGuard no_grad;
    auto flat = checked(values).contiguous().view(-1);
    const int64_t piece = std::max<int64_t>(1, kPieceBytes / flat.element_size());
    for (int64_t begin = 0; begin < flat.numel(); begin += piece) {
      auto part = flat.narrow(0, begin, std::min(piece, flat.numel() - begin));
      auto all = torch::empty({size_, part.numel()}, part.options());
      const int bytes = static_cast<int>(part.nbytes());
      NORMBENCH_MPI(MPI_Allgather(part.data_ptr(), bytes, MPI_BYTE, all.data_ptr(), bytes, MPI_BYTE,
                                  MPI_COMM_WORLD));
      part.copy_(all[0]);
      for (int r = 1; r < size_; ++r) part.add_(all[r]);
    }
    if (!values.is_contiguous()) values.copy_(flat.view(values.sizes()));
  }

  void broadcast_(torch::Tensor& values, int root) override {
    torch::NoGradGuard no_grad;
    TORCH_CHECK(root >= 0 && root < size_, "broadcast_: root ", root, " of ", size_, " ranks");
    auto flat = checked(values).contiguous().view(-1);
    const int64_t piece = std::max<int64_t>(1, kPieceBytes / flat.element_size());
    for (int64_t begin = 0; begin < flat.numel(); begin += piece) {
      auto part = flat.narrow(0, begin, std::min(piece, flat.numel() - begin));
      NORMBENCH_MPI(MPI_Bcast(part.data_ptr(), static_cast<int>(part.nbytes()), MPI_BYTE, root,
                              MPI_COMM_WORLD));
    }
    if (!values.is_contiguous()) values.copy_(flat.view(values.sizes()));
  }

  void barrier() override { NORMBENCH_MPI(MPI_Barrier(MPI_COMM_WORLD)); }

 private:
  static const torch::Tensor& checked(const torch::Tensor& values) {
    TORCH_CHECK(values.device().is_cpu(), "the MPI communicator takes CPU tensors, not ",
                values.device());
    return values;
  }

  int rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<Communicator> mpi_communicator() { return std::make_unique<MpiCommunicator>(); }

}  // namespace normbench
