/* SPDX-License-Identifier: MIT */
/* Path files: what is read, what is refused and with which words, and which type an op is of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "err.h"
#include "path.h"

static char file[] = "/tmp/optrail-path-XXXXXX";
static const char *shipped_paths;

static int read_text(const char *text, struct path **path)
{
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
    return path_read(file, path);
}

#define HEAD                                                                                       \
    "path: p\ndaemon: d\npoints: [op.start, opqueue.enqueue, opqueue.dequeue, op.finish]\n"        \
    "types: [{name: any}]\n"

static void a_good_file(void **state)
{
    (void)state;
    struct path *path;
    assert_int_equal(read_text(HEAD "stages:\n"
                                    "  - {name: inner, kind: lock, within: outer, from: "
                                    "opqueue.enqueue, or_from: op.start, to: opqueue.dequeue, "
                                    "knobs: [a, b]}\n"
                                    "  - {name: outer, kind: work, from: op.start, to: op.finish, "
                                    "text: all of it}\n",
                               &path),
                     0);
    assert_string_equal(path->name, "p");
    assert_int_equal(path->point_count, 4);
    assert_int_equal(path->stage_count, 2);
    /* the outer stage comes first, whatever the file's order */
    assert_string_equal(path->stages[0].name, "outer");
    assert_string_equal(path->stages[0].text, "all of it");
    assert_string_equal(path->stages[1].name, "inner");
    assert_int_equal(path->stages[1].within, 0);
    assert_int_equal(path->stages[1].kind, STAGE_LOCK);
    assert_int_equal(path->stages[1].or_from, POINT_op_start);
    assert_true(path->stages[0].or_from < 0);
    assert_string_equal(path->stages[1].knobs[1], "b");
    assert_null(path->stages[1].knobs[2]);
    path_free(path);
}

static void mistakes_are_named_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message; /* behind the file's name */
    } rows[] = {
        {"", ": the file is empty: docs/paths.md says what a path file has"},
        {"[1, 2", ":2: not YAML: did not find expected ',' or ']'"},
        {"path: p\ncolour: red\n", ":2: unknown key 'colour' (docs/paths.md has those there are)"},
        {"path: p\n", ":1: a path file needs `path`, its name, and `daemon`"},
        {"path: p\ndaemon: d\n", ": no types: say under `types` which kinds of ops there are"},
        {"path: p\npath: q\n", ":2: this is said twice"},
        {"path: [p]\n", ":1: a word or a sentence is wanted here"},
        {"path: p\ndaemon: d\npoints:\n  - op.start\n  - op.strat\n",
         ":5: unknown point 'op.strat': `optrail points` lists them"},
        {"path: p\ndaemon: d\npoints: [op.start, op.start]\n",
         ":3: the point 'op.start' is in `points` twice"},
        {HEAD "stages:\n  - {name: s, kind: wait, from: op.start, or_from: op.finish, to: "
              "opqueue.dequeue}\n",
         ":6: stage 's' may begin at 'op.finish' as well, which `points` must list, before "
         "'opqueue.dequeue'"},
        {HEAD "stages:\n  - {name: s, kind: sleep, from: op.start, to: op.finish}\n",
         ":6: unknown kind 'sleep': wait, work, lock, io, net or throttle"},
        {HEAD "stages:\n  - {name: s, kind: wait, from: op.start}\n",
         ":6: a stage needs name, kind, from and to"},
        {HEAD "stages:\n  - {name: s, kind: wait, from: opqueue.dequeue, to: opqueue.enqueue}\n",
         ":6: stage 's' ends before it starts: `points` has 'opqueue.enqueue' before "
         "'opqueue.dequeue'"},
        {HEAD "stages:\n  - {name: s, kind: wait, from: op.start, to: op.start}\n",
         ":6: stage 's' ends before it starts: `points` has 'op.start' before 'op.start'"},
        {HEAD "stages:\n  - {name: s, kind: wait, from: op.start, to: pg.lock_acquired}\n",
         ":6: stage 's' uses the point 'pg.lock_acquired', which `points` does not list: add it "
         "there, where an op passes it"},
        {HEAD "stages:\n  - {name: s, kind: wait, from: op.start, to: op.finish}\n"
              "  - {name: s, kind: wait, from: op.start, to: op.finish}\n",
         ":7: there are two stages 's': rename one"},
        {"path: p\ndaemon: d\ntypes: [{name: any}]\n"
         "points: [op.start, apply.fork, apply.join, replica.fork, replica.join, op.finish]\n"
         "stages:\n  - {name: s, kind: wait, branch: a, from: apply.fork, to: apply.join}\n"
         "  - {name: t, kind: wait, branch: b, from: replica.fork, to: replica.join}\n",
         ":7: stage 't' runs from a fork to a join as 's' (line 6) does, but between other points: "
         "only one such pair can be told apart"},
        {HEAD "stages:\n  - {name: s, kind: wait, branch: a, from: op.start, to: op.finish}\n"
              "beside: [a, b]\n",
         ":7: no stage is on the branch 'b'"},
        {HEAD "stages:\n  - {name: s, kind: wait, within: t, from: op.start, to: op.finish}\n",
         ":6: stage 's' is within 't', which is no stage here"},
        {HEAD "stages:\n  - {name: s, kind: wait, within: t, from: op.start, to: op.finish}\n"
              "  - {name: t, kind: wait, within: s, from: op.start, to: op.finish}\n",
         ":6: stage 's' is within itself: `within` runs in a circle"},
        {HEAD "stages:\n  - {name: s, kind: wait, from: opqueue.enqueue, to: opqueue.dequeue}\n"
              "  - {name: t, kind: wait, within: s, from: op.start, to: opqueue.dequeue}\n",
         ":7: stage 't' is not inside 's' (line 6): it begins before it or ends after it"},
        {HEAD "stages:\n  - {name: s, kind: wait, from: op.start, to: op.finish}\n"
              "  - {name: t, kind: wait, within: s, branch: b, from: op.start, to: op.finish}\n",
         ":7: stage 't' is within 's', but on another branch"},
        {"path: p\ndaemon: d\ntypes: [{name: w, start_type: two}]\n",
         ":3: a number is wanted for start_type, not 'two'"},
        {"path: p\ndaemon: d\ntypes: [{name: w, bytes_in: maybe}]\n",
         ":3: true or false is wanted here, not 'maybe'"},
        {"path: p\ndaemon: d\ntypes: [{name: w}, {name: w}]\n",
         ": type 'w' is there twice with the same conditions"},
        {"path: p\ndaemon: d\ntypes: {name: w}\n", ":3: a list is wanted here"},
        {"path: p\ndaemon: d\ntypes: [{start_type: 1}]\n", ":3: a type needs a name"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct path *path;
        assert_true(read_text(rows[i].text, &path) < 0);
        assert_memory_equal(err_message(), file, strlen(file));
        assert_string_equal(err_message() + strlen(file), rows[i].message);
    }
}

static void every_cut_of_a_shipped_file_is_borne(void **state)
{
    (void)state;
    char name[512];
    static char text[65536];
    snprintf(name, sizeof(name), "%s/ministore-filestore.yaml", shipped_paths);
    FILE *in = fopen(name, "r");
    assert_non_null(in);
    size_t length = fread(text, 1, sizeof(text) - 1, in);
    fclose(in);
    assert_true(length > 1000 && length < sizeof(text) - 1);
    size_t good = 0;
    for (size_t cut = 0; cut < length; cut += 13) {
        struct path *path;
        char kept = text[cut];
        text[cut] = '\0';
        if (read_text(text, &path) == 0) {
            good++;
            path_free(path);
        } else {
            assert_true(strlen(err_message()) > strlen(file));
        }
        text[cut] = kept;
    }
    assert_true(good < length / 13); /* most of them are not whole */
}

static void shipped_files_are_sound(void **state)
{
    (void)state;
    struct path_set set;
    assert_int_equal(path_set_read(shipped_paths, &set), 0);
    assert_true(set.count >= 3);
    for (size_t i = 0; i < set.count; i++) {
        const struct path *path = set.paths[i];
        for (size_t j = 0; j < path->stage_count; j++)
            assert_true(*path->stages[j].text != '\0'); /* people read it */
    }
    path_set_free(&set);
}

static void pass(uint64_t *seen, enum point point)
{
    seen[point / 64] |= 1ull << (point % 64);
}

static void an_op_is_of_the_type_with_the_most_conditions(void **state)
{
    (void)state;
    struct path_set set;
    struct path_match match;
    uint64_t seen[(POINT_COUNT + 63) / 64] = {0};
    assert_int_equal(path_set_read(shipped_paths, &set), 0);

    struct path_op op = {.seen = seen, .start_type = 2};
    pass(seen, POINT_op_start);
    assert_false(path_set_match(&set, &op, &match));
    pass(seen, POINT_journal_submit);
    assert_true(path_set_match(&set, &op, &match));
    assert_string_equal(match.path->name, "ministore-filestore");
    assert_string_equal(match.type->name, "write");

    pass(seen, POINT_apply_fork);
    assert_true(path_set_match(&set, &op, &match));
    assert_string_equal(match.path->name, "ministore-filestore-journaled");
    assert_string_equal(match.path->branches[0], "local");
    assert_string_equal(match.path->branches[1], "apply");
    assert_int_equal(match.path->beside, 1 << 1);

    memset(seen, 0, sizeof(seen));
    pass(seen, POINT_memstore_read_begin);
    op.start_type = 1;
    assert_true(path_set_match(&set, &op, &match));
    assert_string_equal(match.path->name, "ministore-memstore");
    assert_string_equal(match.type->name, "read");
    path_set_free(&set);
}

static void a_directory_without_path_files(void **state)
{
    (void)state;
    struct path_set set;
    assert_true(path_set_read("/nonexistent", &set) < 0);
    assert_string_equal(err_message(), "/nonexistent: cannot read the directory of path files: No "
                                       "such file or directory");
    assert_true(path_set_read("/proc/self/net/stat", &set) < 0);
    assert_non_null(strstr(err_message(), "no path files (*.yaml) here"));
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    shipped_paths = argv[1];
    close(mkstemp(file));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file),
        cmocka_unit_test(mistakes_are_named_with_their_line),
        cmocka_unit_test(every_cut_of_a_shipped_file_is_borne),
        cmocka_unit_test(shipped_files_are_sound),
        cmocka_unit_test(an_op_is_of_the_type_with_the_most_conditions),
        cmocka_unit_test(a_directory_without_path_files),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(file);
    return failed;
}
