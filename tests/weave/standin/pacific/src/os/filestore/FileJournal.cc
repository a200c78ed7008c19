// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
struct FileJournal {
  std::vector<uint64_t> journalq;
  void submit_entry(uint64_t seq, uint32_t orig_len, TrackedOpRef osd_op);
  int prepare_single_write(uint64_t& orig_ops);
};
void FileJournal::submit_entry(uint64_t seq, uint32_t orig_len,
                               TrackedOpRef osd_op)
{
  (void)seq, (void)orig_len, (void)osd_op;
}
int FileJournal::prepare_single_write(uint64_t& orig_ops)
{
  uint64_t seq = ++orig_ops;
  journalq.push_back(seq);
  return 0;
}
