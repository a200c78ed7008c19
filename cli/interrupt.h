/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_INTERRUPT_H
#define OPTRAIL_INTERRUPT_H

/* From now on SIGINT and SIGTERM set the flag that is returned (it lives as long as the program),
 * so that what there is can be reported; a second one ends the program as usual. */
const volatile int *interrupt_install(void);

/* Sets the flag as the first of these signals does: for a key that ends what runs. */
void interrupt_request(void);

#endif
