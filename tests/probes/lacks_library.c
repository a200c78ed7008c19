/* SPDX-License-Identifier: MIT */
/* A provider whose library is gone when it is loaded. */
int missing_function(void);
int optrail_provider_connect(const void *request);

int optrail_provider_connect(const void *request)
{
    (void)request;
    return missing_function() - 1;
}
