/* SPDX-License-Identifier: MIT */
#define OPTRAIL_NO_PROBES
#include "test_api.inc"
