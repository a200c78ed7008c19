/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_VERBS_H
#define OPTRAIL_VERBS_H

#include "command.h"

/* The verb of that name; NULL if there is none (no message is set). */
const struct command *verb_by_name(const char *name);

/* What `optrail --help` prints, and the manual page optrail(1). */
void verbs_usage(FILE *out);
void verbs_manual(FILE *out);

#endif
