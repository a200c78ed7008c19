// SPDX-License-Identifier: MIT
#include "standin.h"
struct MemStore {
  Mutex apply_lock;
  int queue_transactions(std::vector<int>& tls, TrackedOpRef op);
  void _do_transaction(int t) { (void)t; }
  int read(coll_t cid, uint64_t offset);
};
int MemStore::queue_transactions(std::vector<int>& tls, TrackedOpRef op)
{
  Mutex::Locker l(apply_lock);
  for (std::vector<int>::iterator p = tls.begin(); p != tls.end(); ++p) {
    _do_transaction(*p);
  }
  return op ? 0 : 1;
}
int MemStore::read(coll_t cid, uint64_t offset)
{
  (void)cid;
  return (int)offset;
}
