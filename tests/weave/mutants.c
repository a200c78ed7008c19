/* SPDX-License-Identifier: MIT
 *
 * Whatever is done to sources, rules and record: the weaver does not crash, a file is woven or as
 * it was, weaving twice changes nothing more, and undo gives the bytes back.
 *
 *     weave-mutants SOURCES [COUNT [FIRST]]
 *
 * tries COUNT mutants of the files in the directory SOURCES, from the number FIRST on: each follows
 * from its number alone.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "weave.h"

#define MAX_TEXT (64 << 10)

enum { STORE, OLD, BUILD, RULES, RECORD, FILES };
static const char *const names[FILES] = {"store.cc", "old.cc", "build.am", "rules.yaml",
                                         WEAVE_RECORD};

struct text {
    char bytes[MAX_TEXT];
    size_t size;
};

static struct text originals[FILES], texts[FILES];
static char work[256], tree[300], rules_file[300], outside[300];
static uint64_t state;
static unsigned long number, woven_count, refused_count, misread_count, undone_count;

static _Noreturn void fail(const char *what, const char *name)
{
    fprintf(stderr, "mutant %lu: %s: %s (%s)\n", number, name, what, work);
    abort();
}

/* splitmix64, https://prng.di.unimi.it/splitmix64.c */
static unsigned pick(unsigned below)
{
    uint64_t next = (state += 0x9e3779b97f4a7c15);
    next = (next ^ (next >> 30)) * 0xbf58476d1ce4e5b9;
    next = (next ^ (next >> 27)) * 0x94d049bb133111eb;
    return (unsigned)((next ^ (next >> 31)) % below);
}

static const char *path_of(int file)
{
    static char path[600];
    if (file == RULES)
        return rules_file;
    snprintf(path, sizeof(path), "%s/%s", tree, names[file]);
    return path;
}

static void load(const char *path, struct text *text)
{
    FILE *in = fopen(path, "r");
    if (!in)
        fail(strerror(errno), path);
    text->size = fread(text->bytes, 1, sizeof(text->bytes), in);
    fclose(in);
}

static void store(const char *path, const struct text *text)
{
    FILE *out = fopen(path, "w");
    if (!out || fwrite(text->bytes, 1, text->size, out) != text->size || fclose(out) != 0)
        fail(strerror(errno), path);
}

static bool same(int file, const char *bytes, size_t size)
{
    static struct text now;
    load(path_of(file), &now);
    return now.size == size && memcmp(now.bytes, bytes, size) == 0;
}

static void replace(struct text *text, size_t at, size_t gone, const char *bytes, size_t size)
{
    if (text->size - gone + size > sizeof(text->bytes))
        return;
    memmove(text->bytes + at + size, text->bytes + at + gone, text->size - at - gone);
    memcpy(text->bytes + at, bytes, size);
    text->size += size - gone;
}

/* A few bytes or tokens gone, doubled or put in, or the end cut off. */
static void mutate(struct text *text)
{
    static const char *const pieces[] = {
        "{",
        "}",
        "(",
        ")",
        "<",
        ">",
        "::",
        "\"",
        "'",
        "/*",
        "*/",
        "//",
        "\\\n",
        "#if X\n",
        "#else\n",
        "#elif 1\n",
        "#endif\n",
        "R\"x(",
        "template <",
        "namespace ",
        "class ",
        "operator",
        "\xff",
        "\r",
        "=",
        ":",
        ";",
        "~",
        "if (x)\n",
        "switch",
        "case 1:",
        "return ",
        "goto a;",
        "&&",
        "[",
        "#if 0\n",
        "\n",
        "  ",
        "every: true",
        "- ",
        "../",
        ", ",
        "behind: x",
        "at: ",
        "optional",
        "\t",
        "0123456789abcdef ",
    };
    static char copy[256];
    for (unsigned edits = 1 + pick(4); edits > 0 && text->size > 0; edits--) {
        size_t at = pick((unsigned)text->size), left = text->size - at;
        size_t some = 1 + pick(left < 40 ? (unsigned)left : 40);
        const char *piece = pieces[pick(sizeof(pieces) / sizeof(pieces[0]))];
        switch (pick(5)) {
        case 0:
            replace(text, at, some, "", 0);
            break;
        case 1:
            memcpy(copy, text->bytes + at, some);
            replace(text, at, 0, copy, some);
            break;
        case 2:
            if (pick(10) == 0)
                text->size = at;
            else
                text->bytes[at] = (char)pick(256);
            break;
        default:
            replace(text, at, 0, piece, strlen(piece));
        }
    }
}

/* Nothing is in the tree but what belongs there. */
static void check_left_overs(bool record)
{
    DIR *directory = opendir(tree);
    unsigned count = 0;
    if (!directory)
        fail(strerror(errno), tree);
    while (readdir(directory))
        count++;
    closedir(directory);
    if (count != 5 + (unsigned)record)
        fail("files are left over", tree);
}

static void check_original(const char *when)
{
    for (int i = STORE; i <= BUILD; i++)
        if (!same(i, texts[i].bytes, texts[i].size))
            fail(when, names[i]);
}

/* Every file of the weaving has the one text, or the other. */
static void check_texts(const struct weaving *weaving, bool woven)
{
    for (size_t i = 0; i < weaving->file_count; i++) {
        const struct weave_file *file = &weaving->files[i];
        for (int k = STORE; k <= BUILD; k++)
            if (strcmp(file->name, names[k]) == 0 &&
                !same(k, woven ? file->woven : file->clean,
                      woven ? file->woven_size : file->clean_size))
                fail("not what was to be written", file->name);
    }
}

/* Weaves, or undoes without rules. Returns whether it was done; *changed counts files. */
static bool weave(const struct weave_rules *rules, size_t *changed, size_t *lines)
{
    struct weaving weaving;
    *lines = 0;
    if (weave_prepare(tree, rules, "/opt", &weaving) < 0)
        return false;
    struct weave_written written;
    bool done = weave_write(&weaving, !rules, &written) == 0;
    *changed = written.changed;
    if (done)
        check_texts(&weaving, rules);
    for (size_t i = 0; i < weaving.file_count; i++)
        *lines += weaving.files[i].line_count;
    weaving_free(&weaving);
    return done;
}

/* The tree is woven; its record is not to be trusted. */
static void try_record(const struct weave_rules *rules)
{
    static struct text woven[BUILD + 1];
    size_t changed = 0, lines;
    struct text *record = &texts[RECORD];
    for (int i = STORE; i <= BUILD; i++)
        load(path_of(i), &woven[i]);
    load(path_of(RECORD), record);
    mutate(record);
    store(path_of(RECORD), record);
    bool done = weave(NULL, &changed, &lines);
    undone_count += done;
    for (int i = STORE; i <= BUILD; i++)
        if (!same(i, woven[i].bytes, woven[i].size) &&
            !(done && same(i, texts[i].bytes, texts[i].size)))
            fail("half undone", names[i]);
    check_left_overs(!done);
    unlink(path_of(RECORD));
    struct weaving weaving; /* undo by the rules */
    struct weave_written written;
    if (weave_prepare(tree, rules, "/opt", &weaving) < 0 ||
        weave_write(&weaving, true, &written) < 0)
        fail(err_message(), "undo by the rules");
    weaving_free(&weaving);
}

static void try_weave(const struct weave_rules *rules, bool hostile_record)
{
    size_t changed = 0, lines, again = 0;
    if (!weave(rules, &changed, &lines)) {
        refused_count++;
        check_original("changed, though it was refused");
        check_left_overs(false);
        return;
    }
    woven_count += lines > 0;
    check_left_overs(lines > 0);
    if ((lines > 0) != (changed > 0))
        fail("lines and changes do not agree", tree);
    if (!weave(rules, &again, &lines) || again > 0)
        fail("the second time changes it", tree);
    if (lines > 0 && hostile_record)
        try_record(rules);
    else if (lines > 0 && !weave(NULL, &changed, &lines))
        fail(err_message(), "undo");
    check_original("not given back");
    check_left_overs(false);
}

/* A mutant of the sources, of the rules, or of the record. */
static void try_mutant(const struct weave_rules *whole)
{
    struct weave_rules read;
    state = number * 0x2545f4914f6cdd1d;
    memcpy(texts, originals, sizeof(texts));
    unsigned what = pick(20);
    if (what < 15)
        mutate(&texts[pick(3)]);
    if (what < 2)
        mutate(&texts[pick(3)]);
    for (int i = STORE; i <= BUILD; i++)
        if (what < 15 || number % 64 == 0)
            store(path_of(i), &texts[i]);
    if (what >= 15 && what < 18) {
        mutate(&texts[RULES]);
        store(rules_file, &texts[RULES]);
        if (weave_rules_read(rules_file, &read) < 0) {
            misread_count++;
            return;
        }
        try_weave(&read, false);
        weave_rules_free(&read);
    } else {
        try_weave(whole, what >= 18);
    }
    /* the next one begins with what it does not mutate */
    for (int i = STORE; i <= BUILD; i++)
        if (what < 15)
            store(path_of(i), &originals[i]);
}

/* In memory, when it can be: each write goes down to the disk. */
static void make_work(void)
{
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    snprintf(work, sizeof(work), "%s/optrail-mutants-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(work))
        fail(strerror(errno), work);
    snprintf(tree, sizeof(tree), "%s/tree", work);
    snprintf(rules_file, sizeof(rules_file), "%s/rules.yaml", work);
    snprintf(outside, sizeof(outside), "%s/outside.cc", work);
    if (mkdir(tree, 0700) < 0)
        fail(strerror(errno), tree);
}

int main(int argc, char **argv)
{
    static const struct text sentinel = {"int x; /* optrail:x */\n", 23};
    static struct text after;
    struct weave_rules rules;
    char path[600];
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: weave-mutants SOURCES [COUNT [FIRST]]\n");
        return 2;
    }
    unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 5000;
    unsigned long first = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    make_work();
    for (int i = STORE; i < RECORD; i++) {
        snprintf(path, sizeof(path), "%s/%s", argv[1], names[i]);
        load(path, &originals[i]);
        store(path_of(i), &originals[i]);
    }
    store(outside, &sentinel);
    if (weave_rules_read(rules_file, &rules) < 0)
        fail(err_message(), "rules");
    for (number = first; number < first + count; number++)
        try_mutant(&rules);
    weave_rules_free(&rules);
    load(outside, &after);
    if (after.size != sentinel.size)
        fail("a file outside of the tree was changed", outside);
    printf("%lu mutants: %lu woven, %lu refused, %lu with rules that are none, %lu with a changed "
           "record undone all the same\n",
           count, woven_count, refused_count, misread_count, undone_count);
    for (int i = STORE; i <= BUILD; i++)
        unlink(path_of(i));
    unlink(rules_file);
    unlink(outside);
    rmdir(tree);
    rmdir(work);
    /* a sieve that lets all or nothing through tests nothing */
    bool both = woven_count > count / 10 && refused_count > count / 20;
    return count < 1000 || both ? 0 : 1;
}
