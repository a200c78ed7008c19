// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
struct MemStore {
  struct Collection {
    std::mutex sequencer_mutex;
  };
  int queue_transactions(
    Collection *ch, std::vector<int>& tls, TrackedOpRef op);
  void _do_transaction(int t) { (void)t; }
  int read(Collection *ch, uint64_t offset);
};
int MemStore::queue_transactions(
  Collection *ch, std::vector<int>& tls, TrackedOpRef op)
{
  Collection *c = ch;
  std::unique_lock lock{c->sequencer_mutex};
  for (auto p = tls.begin(); p != tls.end(); ++p) {
    _do_transaction(*p);
  }
  return op ? 0 : 1;
}
int MemStore::read(Collection *ch, uint64_t offset)
{
  return ch ? (int)offset : -1;
}
