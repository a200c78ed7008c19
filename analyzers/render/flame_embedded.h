/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_EMBEDDED_H
#define OPTRAIL_FLAME_EMBEDDED_H

/* The files flame.css and flame.js, as texts: they go into every SVG. */
extern const char flame_css[];
extern const char flame_js[];

#endif
