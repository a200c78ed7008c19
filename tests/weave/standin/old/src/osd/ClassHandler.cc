// SPDX-License-Identifier: MIT
#include "standin.h"
struct ClassHandler {
  struct ClassMethod {
    int exec(void *ctx, std::string &indata, std::string &outdata);
  };
};
int ClassHandler::ClassMethod::exec(void *ctx, std::string& indata, std::string& outdata)
{
  outdata = indata;
  return ctx == 0;
}
