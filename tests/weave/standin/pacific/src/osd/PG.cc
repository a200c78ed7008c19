// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
struct PG {
  mutable std::mutex _lock;
  void lock(bool no_lockdep) const;
};
void PG::lock(bool no_lockdep) const
{
#ifdef CEPH_DEBUG_MUTEX
  _lock.lock(no_lockdep);
#else
  _lock.lock();
#endif
  (void)no_lockdep;
}
