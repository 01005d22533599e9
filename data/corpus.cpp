#include "data/corpus.h"

#include "suite/base/hash.h"
#include "suite/base/random.h"

namespace normbench {

Split split_of(std::string_view key, double validation_share) {
  const double uniform = static_cast<double>(xxh3_64(key) >> 11) * 0x1.0p-53;
  return uniform < validation_share ? Split::kValidation : Split::kTrain;
}

std::string valid_utf8(std::string_view text, int64_t* replaced) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead >= 0xC2 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
    bool good = length > 0 && i + length <= text.size();
    for (size_t k = 1; good && k < length; ++k) good = (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
    if (good && length >= 3) {  // over-long forms, surrogates, and code points above U+10FFFF
      const auto second = static_cast<unsigned char>(text[i + 1]);
      good = !(lead == 0xE0 && second < 0xA0) && !(lead == 0xED && second > 0x9F) &&
             !(lead == 0xF0 && second < 0x90) && !(lead == 0xF4 && second > 0x8F);
    }
    if (good) {
      out.append(text, i, length);
      i += length;
    } else {
      out += "\xEF\xBF\xBD";
      ++*replaced;
      ++i;
    }
  }
  return out;
}

void ShuffledCorpus::for_each(const std::function<void(const Document&)>& f) const {
  for (const auto& document : documents_) f(document);
}

void ShuffledCorpus::shuffle_(std::string_view name) {
  if (documents_.empty()) return;
  const Permutation order(documents_.size(), 0, "data/" + std::string(name));
  std::vector<Document> shuffled(documents_.size());
  for (size_t i = 0; i < shuffled.size(); ++i) shuffled[i] = std::move(documents_[order(i)]);
  documents_ = std::move(shuffled);
}

std::vector<std::string> paragraph_chunks(std::string_view text, size_t chunk_bytes) {
  std::vector<std::string> chunks;
  std::string chunk;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const auto line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) continue;
    if (!chunk.empty()) chunk += '\n';
    chunk += line;
    if (chunk.size() >= chunk_bytes) chunks.push_back(std::exchange(chunk, {}));
  }
  if (!chunk.empty()) chunks.push_back(std::move(chunk));
  return chunks;
}

}  // namespace normbench
