// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
struct ClassHandler {
  struct ClassMethod {
    int exec(void *ctx);
  };
};
int ClassHandler::ClassMethod::exec(void *ctx)
{
  auto run = [&](auto method) {
    return method != nullptr;
  };
  return run(ctx);
}
