// SPDX-License-Identifier: MIT
#include "standin.h"
#include <unistd.h>
struct PendingWB {
  int fd, *row;
  template <int N> int **get() { row = &fd; return &row; }
};
struct WBThrottle {
  Mutex lock;
  Cond cond;
  bool stopping;
  void throttle();
  void *entry();
};
void WBThrottle::throttle()
{
  Mutex::Locker l(lock);
  while (!stopping) {
    cond.Wait(lock);
  }
}
void *WBThrottle::entry()
{
  PendingWB wb;
  wb.fd = -1;
  while (!stopping) {
    lock.Unlock();
    ::fdatasync(**wb.get<1>());
    lock.Lock();
  }
  return 0;
}
