/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* replay STEP FILE...: what the fuzzer does with a file, and with its prefixes, STEP bytes apart
 * (0: not). Each gets memory of its own size, so that a sanitizer sees what reads beyond. */
static void one(const char *bytes, size_t size)
{
    char *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput((const uint8_t *)copy, size);
    free(copy);
}

int main(int argc, char **argv)
{
    static char bytes[1 << 20];
    size_t step = argc > 2 ? strtoul(argv[1], NULL, 10) : 0, texts = 0;

    for (int i = 2; i < argc; i++) {
        FILE *in = fopen(argv[i], "re");
        if (!in) {
            fprintf(stderr, "%s: cannot be opened\n", argv[i]);
            return 1;
        }
        size_t size = fread(bytes, 1, sizeof(bytes), in);
        fclose(in);
        one(bytes, size);
        texts++;
        for (size_t end = 0; step && end < size; end += step, texts++)
            one(bytes, end);
    }
    printf("%zu texts\n", texts);
    return texts > 0 ? 0 : 1;
}
