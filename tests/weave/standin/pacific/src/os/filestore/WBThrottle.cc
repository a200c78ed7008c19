// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
#include <unistd.h>
struct PendingWB {
  int fd = -1, *row = nullptr;
  template <int N> int **get() { row = &fd; return &row; }
};
struct WBThrottle {
  std::mutex lock;
  std::condition_variable cond;
  bool stopping;
  void throttle();
  void *entry();
};
void WBThrottle::throttle()
{
  std::unique_lock l{lock};
  cond.wait(l, [this] { return stopping; });
}
void *WBThrottle::entry()
{
  PendingWB wb;
  int r = ::fdatasync(**wb.get<1>());
  return r < 0 ? this : nullptr;
}
