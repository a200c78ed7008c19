// SPDX-License-Identifier: MIT
#ifndef STANDIN_IMAGE_H
#define STANDIN_IMAGE_H
#include "standin.h"
namespace librbd {
  enum aio_type_t { AIO_TYPE_NONE, AIO_TYPE_READ, AIO_TYPE_WRITE };
  struct ImageCtx {
    Mutex cache_lock;
    int readx() { return 0; }
    void aio_read_from_cache(uint64_t off);
    void write_to_cache(uint64_t off);
  };
}
#endif
