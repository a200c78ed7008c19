/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_NAME_PROVIDER_H
#define OPTRAIL_NAME_PROVIDER_H

/* Names the LTTng provider of this build in $OPTRAIL_PROVIDER, if nothing is named there yet: in a
 * build tree that others may write to (below /tmp, say) a daemon finds none by itself. */
void name_provider(void);

#endif
