// SPDX-License-Identifier: MIT
#include "standin.h"
void common_init_finish(int threads)
{
  (void)threads;
}
