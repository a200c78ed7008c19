/* SPDX-License-Identifier: MIT */
#include "provider_bluestore.h"
#include "provider_librbd.h"
#include "provider_objectstore.h"
#include "provider_oprequest.h"
#include "provider_osd.h"
#include "provider_pg.h"
