// SPDX-License-Identifier: MIT
#include "ImageCtx.h"

namespace librbd {
  class C_Request {
    Mutex *m_lock;
  public:
    C_Request(Mutex *l) : m_lock(l) {}
    virtual ~C_Request() {}
    virtual void finish(int r) {
      {
        Mutex::Locker l(*m_lock);
        (void)r;
      }
    }
  };
}
