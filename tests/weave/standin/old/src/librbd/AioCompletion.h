// SPDX-License-Identifier: MIT
#ifndef STANDIN_COMPLETION_H
#define STANDIN_COMPLETION_H
#include "ImageCtx.h"

namespace librbd {
  struct AioCompletion {
    aio_type_t aio_type;
    int64_t rval;
    void init_time(ImageCtx *i, aio_type_t t) { aio_type = i ? t : AIO_TYPE_NONE; }
    void complete() {
      rval = 0;
    }
  };
}
#endif
