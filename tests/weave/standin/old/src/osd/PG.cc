// SPDX-License-Identifier: MIT
#include "standin.h"
struct PG {
  Mutex _lock;
  void lock(bool no_lockdep);
};
void PG::lock(bool no_lockdep)
{
  _lock.Lock(no_lockdep);
}
