/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_HTML_EMBEDDED_H
#define OPTRAIL_HTML_EMBEDDED_H

/* html.css and html.js as texts, made by CMake. */
extern const char html_css[];
extern const char html_js[];

#endif
