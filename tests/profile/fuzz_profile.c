/* SPDX-License-Identifier: MIT */
/* fuzz_profile ROUNDS PROFILE: every prefix of a profile, and bytes of it changed at random, are
 * read, or refused with a message. The seal is left out, so that what stands behind it is reached;
 * and what is let through becomes a report. The random numbers are the same in each run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "err.h"
#include "profile_rows.h"
#include "render.h"

static uint64_t random_state = 88172645463325252ull;

static size_t below(size_t count) /* Marsaglia's xorshift */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return count ? (size_t)(random_state % count) : 0;
}

static int failed(const char *what, size_t round)
{
    fprintf(stderr, "round %zu: %s\n", round, what);
    return 1;
}

/* Reads the bytes and makes of them what there is to be made. */
static int try(const char *bytes, size_t size, bool sealed, const char *text, size_t round,
               size_t *accepted)
{
    struct profile_reader *reader = NULL;
    struct analysis *analysis = NULL;
    struct report *report = NULL;
    struct read_counts counts;
    char damage[256] = "";
    const struct analysis_options options = {.path = text, .windows = round % 2};
    int rc = profile_reader_memory("mutant", bytes, size, sealed, &reader);
    if (rc == 0 && (rc = analysis_new(&options, &analysis)) < 0)
        return failed(err_message(), round);
    if (rc == 0)
        rc = analysis_load(analysis, reader, &counts, damage, sizeof(damage));
    if (rc < 0 && !*err_message())
        return failed("refused without a message", round);
    if (rc == 0) {
        FILE *out = fopen("/dev/null", "we");
        const struct render_options plain = {0};
        if (!out || analysis_report(analysis, &counts, NULL, &report) < 0 ||
            renderer_by_name("json")->render(report, &plain, out) < 0 ||
            renderer_by_name("text")->render(report, &plain, out) < 0)
            return failed(err_message(), round);
        fclose(out);
        ++*accepted;
    }
    report_free(report);
    analysis_free(analysis);
    profile_reader_free(reader);
    return 0;
}

/* What often matters: digits become others, numbers become large, rows go or come twice. */
static size_t mutate(char *bytes, size_t size, size_t room)
{
    size_t at = below(size), length = 1 + below(40);
    static const char *const words[] = {"0", "1", "65535", "4611686018427387904", "%", "-1", " "};
    switch (below(4)) {
    case 0:
        bytes[at] = (char)(1 + below(255));
        return size;
    case 1: { /* another word in its place */
        const char *word = words[below(sizeof(words) / sizeof(*words))];
        size_t end = at + strcspn(bytes + at, " \n");
        size_t start = at;
        while (start > 0 && !strchr(" \n", bytes[start - 1]))
            start--;
        size_t added = strlen(word);
        if (end > size || size - (end - start) + added >= room)
            return size;
        memmove(bytes + start + added, bytes + end, size - end + 1);
        for (size_t i = 0; i < added; i++)
            bytes[start + i] = word[i];
        return size - (end - start) + added;
    }
    case 2: /* a piece goes */
        if (at + length >= size)
            return size;
        memmove(bytes + at, bytes + at + length, size - at - length + 1);
        return size - length;
    default: /* a piece comes twice */
        if (at + length >= size || size + length >= room)
            return size;
        memmove(bytes + at + length, bytes + at, size - at + 1);
        return size + length;
    }
}

int main(int argc, char **argv)
{
    static char original[1 << 20], bytes[(1 << 20) + 4096];
    if (argc != 4)
        return failed("usage: fuzz_profile ROUNDS PROFILE PATH-FILE", 0);
    size_t rounds = strtoul(argv[1], NULL, 10), accepted = 0, round = 0;
    FILE *in = fopen(argv[2], "re");
    size_t size = in ? fread(original, 1, sizeof(original) - 1, in) : 0;
    if (size == 0)
        return failed("no profile to begin with", 0);
    fclose(in);
    /* whole, it is fine; of its prefixes, none is */
    if (try(original, size, true, argv[3], 0, &accepted) || accepted != 1)
        return failed("the profile itself is refused", 0);
    for (size_t cut = 0; cut < size; cut += 1 + below(size / 200 + 1)) {
        struct profile_reader *reader = NULL;
        if (profile_reader_memory("prefix", original, cut, true, &reader) == 0)
            return failed("a prefix is taken for the whole", cut);
    }
    /* without its last row, and its seal */
    while (size > 1 && original[size - 2] != '\n')
        size--;
    original[--size] = '\0';
    accepted = 0;
    for (round = 1; round <= rounds; round++) {
        memmove(bytes, original, size + 1);
        size_t left = size;
        for (size_t changes = 1 + below(3); changes > 0; changes--)
            left = mutate(bytes, left, sizeof(bytes));
        if (try(bytes, left, false, argv[3], round, &accepted))
            return 1;
    }
    /* both kinds must have been there, or nothing was tried */
    if (accepted == 0 || accepted == rounds)
        return failed("all mutants went the same way", accepted);
    printf("%zu mutants, %zu of them read\n", rounds, accepted);
    return 0;
}
