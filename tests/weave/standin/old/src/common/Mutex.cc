// SPDX-License-Identifier: MIT
#include "standin.h"
static int pthread_mutex_lock(int *mutex) { return *mutex; }
void Mutex::Lock(bool no_lockdep)
{
  if (no_lockdep)
    return;
  int r = pthread_mutex_lock(&_m);
  _m = r;
}
