// A package made by hand: the pipeline from a .deb to normalised text, without apt-get or a
// network.
#include "data/package.h"

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include "data/corpus.h"
#include "data/testing.h"

namespace normbench {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

std::string pack(const Members& members, bool outer) {
  std::string out(1 << 20, '\0');
  size_t used = 0;
  archive* a = archive_write_new();
  if (outer) {
    archive_write_set_format_ar_svr4(a);
    archive_write_add_filter_none(a);
  } else {
    archive_write_set_format_ustar(a);
    archive_write_add_filter_xz(a);
  }
  archive_write_open_memory(a, out.data(), out.size(), &used);
  for (const auto& [name, bytes] : members) {
    archive_entry* e = archive_entry_new();
    archive_entry_set_pathname(e, name.c_str());
    archive_entry_set_size(e, static_cast<la_int64_t>(bytes.size()));
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    archive_write_header(a, e);
    archive_write_data(a, bytes.data(), bytes.size());
    archive_entry_free(e);
  }
  archive_write_close(a);
  archive_write_free(a);
  out.resize(used);
  return out;
}

std::string deb(const std::string& package, const Members& files) {
  const std::string control = "Package: " + package + "\nVersion: 9.9-1\nArchitecture: all\n";
  return pack({{"debian-binary", "2.0\n"},
               {"control.tar.xz", pack({{"./control", control}}, false)},
               {"data.tar.xz", pack(files, false)}},
              true);
}

std::string gzip(const std::string& bytes) {
  std::string out(bytes.size() + 1000, '\0');
  z_stream z{};
  deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.erase(z.total_out);
  deflateEnd(&z);
  return out;
}

TEST(Package, FilesAreReadOutOfADebWithoutInstallingIt) {
  const TemporaryFolder f;
  const std::string path =
      f.file("x.deb", deb("dict-x", {{"./usr/a.txt", "alpha"}, {"./usr/b.txt", "beta"}}));
  const auto files =
      read_package(path, [](const std::string& name) { return name == "usr/b.txt"; });
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].second, "beta");
  const PackageFile package = fetch_package("dict-x", f.path() + "/downloads", path);
  EXPECT_EQ(package.version, "9.9-1");
  EXPECT_EQ(package.sha256.size(), 64u);
  expect_words(user_error_of([&] { fetch_package("dict-y", f.path(), path); }),
               {"another package", "dict-x", "dict-y"});
}

TEST(Package, DamagedFilesAreNamed) {
  const TemporaryFolder f;
  const std::string good = deb("dict-x", {{"./usr/a.txt", "alpha"}});
  const auto any = [](const std::string&) { return true; };
  expect_words(user_error_of([&] { read_package(f.file("n.deb", "nonsense"), any); }), {"n.deb"});
  expect_words(
      user_error_of([&] { read_package(f.file("c.deb", good.substr(0, good.size() / 2)), any); }),
      {"c.deb"});
  expect_words(user_error_of([&] { read_package(f.path() + "/none.deb", any); }), {"none.deb"});
  EXPECT_EQ(gunzip(gzip("text") + gzip(" more"), "x"), "text more")
      << "dictzip files may have several members";
  expect_words(user_error_of([&] { gunzip(gzip("some text here").substr(0, 12), "part.dz"); }),
               {"part.dz"});
}

TEST(Package, AFileGivenByHandIsNotToBeDeleted) {
  const TemporaryFolder f;
  const std::string message = user_error_of(
      [&] { fetch_package("dict-x", f.path() + "/downloads", f.file("a.txt", "some text")); });
  expect_words(message, {"a.txt", "a Debian package: ar with control.tar", "get the file anew"});
}

TEST(Package, TheDictionaryCorpusReadsItsPackageAndWarnsAboutAnotherRevision) {
  const TemporaryFolder f;
  std::string dictionary = "Notices.\n\n";
  for (int i = 0; i < 200; ++i)
    for (const char* sense : {"n.", "v. t."})
      dictionary += std::string("A") + (i == 0 ? "" : std::to_string(i)) + " \\A\\, " + sense +
                    "\n   Something about number " + std::to_string(i) + ". [1913 Webster]\n\n";
  const std::string path =
      f.file("x.deb", deb("dict-gcide", {{"./usr/share/dictd/gcide.dict.dz", gzip(dictionary)}}));
  const Json options = {{"package", "dict-gcide"}, {"version", "1"}, {"sha256", "00"}};
  const auto corpus =
      make_corpus("gcide", JsonObject(options, "test"),
                  {.downloads_folder = f.path(), .deb = path, .validation_share = 0.3});
  std::set<std::string> heads[2];
  int documents = 0;
  corpus->for_each([&](const Document& d) {
    ++documents;
    heads[d.split == Split::kTrain].insert(d.text.substr(0, d.text.find(' ')));
  });
  EXPECT_EQ(documents, 400);
  EXPECT_GT(heads[0].size(), 30u);
  for (const auto& head : heads[0])
    EXPECT_EQ(heads[1].count(head), 0u) << head << " lies on both sides of the split";
  ASSERT_EQ(corpus->warnings().size(), 1u);
  expect_words(corpus->warnings()[0], {"9.9-1", "digest of the text"});
  EXPECT_EQ(corpus->sources()[0]["version"], "9.9-1");
}

TEST(Package, WithoutAptGetTheMessageSaysHowToGiveAFileByHand) {
  const TemporaryFolder f;
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", f.path().c_str(), 1);
  std::string message;
  try {
    fetch_package("dict-gcide", f.path() + "/downloads", "");
  } catch (const MachineError& error) {
    message = error.what();
  }
  ::setenv("PATH", path.c_str(), 1);
  expect_words(message, {"apt-get download dict-gcide", "could not be", "--deb FILE"});
  EXPECT_FALSE(std::filesystem::exists(f.path() + "/downloads/dict-gcide.part"));
}

}  // namespace
}  // namespace normbench
