// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
void common_init_finish(int threads)
{
  (void)threads;
}
