// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
#include <atomic>
namespace librbd {
namespace io {
enum aio_type_t { AIO_TYPE_NONE, AIO_TYPE_READ, AIO_TYPE_WRITE };
struct AioCompletion {
  void *ictx;
  aio_type_t aio_type;
  std::atomic<int64_t> rval;
  void complete();
  void init_time(void *i, aio_type_t t);
};
void AioCompletion::complete() {
  rval = 0;
}
void AioCompletion::init_time(void *i, aio_type_t t) {
  if (ictx == nullptr) {
    ictx = i;
    aio_type = t;
  }
}
} // namespace io
} // namespace librbd
