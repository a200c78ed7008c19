/* SPDX-License-Identifier: MIT */
#include "test_api.inc"
