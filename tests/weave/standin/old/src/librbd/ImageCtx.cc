// SPDX-License-Identifier: MIT
#include "ImageCtx.h"

namespace librbd {
  void ImageCtx::aio_read_from_cache(uint64_t off) {
    cache_lock.Lock();
    int r = readx();
    cache_lock.Unlock();
    (void)off, (void)r;
  }
  void ImageCtx::write_to_cache(uint64_t off) {
    {
      Mutex::Locker l(cache_lock);
      readx();
    }
    (void)off;
  }
}
