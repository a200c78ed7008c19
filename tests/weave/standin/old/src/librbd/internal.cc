// SPDX-License-Identifier: MIT
#include "AioCompletion.h"

namespace librbd {
  int aio_read(ImageCtx *ictx, const std::vector<uint64_t>& image_extents, AioCompletion *c)
  {
    c->init_time(ictx, AIO_TYPE_READ);
    for (size_t i = 0; i < image_extents.size(); i++) {
      ictx->aio_read_from_cache(image_extents[i]);
    }
    return 0;
  }
  int aio_read(ImageCtx *ictx, uint64_t off, AioCompletion *c)
  {
    return aio_read(ictx, std::vector<uint64_t>(1, off), c);
  }
  int aio_write(ImageCtx *ictx, uint64_t off, AioCompletion *c)
  {
    c->init_time(ictx, AIO_TYPE_WRITE);
    if (off > 0) {
      ictx->write_to_cache(off);
    }
    return 0;
  }
}
