/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lock_rules.h"
#include "lock_table.h"
#include "points.h"

#define US 1000u

static struct lock_table *table;
static uint64_t now_ns;

static void send(uint64_t after_ns, uint16_t point, uint32_t tid, uint64_t key, uint64_t arg0,
                 uint64_t arg1)
{
    now_ns += after_ns;
    const struct optrail_event event = {.time_ns = now_ns,
                                        .key = key,
                                        .arg0 = arg0,
                                        .arg1 = arg1,
                                        .pid = 100,
                                        .tid = tid,
                                        .point = point};
    assert_int_equal(lock_table_event(table, &event), 0);
}

static void begin(void)
{
    now_ns = 1000000000;
    assert_int_equal(lock_table_new(NULL, NULL, &table), 0);
}

static const struct lock_group *group(const char *name)
{
    const struct lock_groups *groups = lock_table_groups(table);
    for (size_t i = 0; i < groups->count; i++)
        if (strcmp(groups->rows[i]->name, name) == 0)
            return groups->rows[i];
    fail_msg("no lock %s", name);
    return NULL;
}

/* The rows are not in the order in which the threads came. */
static const struct lock_thread *thread(const struct lock_group *at, uint32_t tid)
{
    for (size_t i = 0; i < at->thread_room; i++)
        if (at->threads[i].pid == 100 && at->threads[i].tid == tid)
            return &at->threads[i];
    fail_msg("no thread %u at %s", tid, at->name);
    return NULL;
}

static uint64_t busy_ns;
static size_t instances;

static void add_busy(void *context, const struct lock_instance *instance)
{
    (void)context;
    busy_ns += instance->busy_ns;
    instances++;
}

static void count_instances(void)
{
    busy_ns = instances = 0;
    lock_table_instances(table, add_busy, NULL);
}

/* Thread 2 waits 30 us for what thread 1 holds for 40 us; nobody waits while it holds it itself. */
static void told_locks_are_exact(void **state)
{
    (void)state;
    begin();
    send(0, POINT_pg_lock_request, 1, 0x50, 7, 0);
    send(0, POINT_pg_lock_acquired, 1, 0x50, 7, 0);
    send(10 * US, POINT_pg_lock_request, 2, 0x51, 7, 0);
    send(30 * US, POINT_pg_lock_released, 1, 0x50, 7, 0);
    send(0, POINT_pg_lock_acquired, 2, 0x51, 7, 0);
    send(5 * US, POINT_pg_lock_released, 2, 0x51, 7, 0);
    const struct lock_group *pg = group("pg.lock");
    assert_int_equal(pg->acquisitions, 2);
    assert_int_equal(pg->waits, 1);
    assert_int_equal(pg->wait.sum, 30 * US);
    assert_int_equal(pg->hold.sum, 45 * US);
    assert_int_equal(pg->contended_ns, 30 * US);
    assert_int_equal(pg->handover_ns, 0);
    assert_int_equal(pg->thread_count, 2);
    assert_int_equal(thread(pg, 1)->blocked_ns, 30 * US);
    assert_int_equal(thread(pg, 2)->wait_ns, 30 * US);
    count_instances();
    assert_int_equal(instances, 1);
    assert_int_equal(busy_ns, 45 * US);
    lock_table_free(table);
}

/* Other groups' locks are other locks. */
static void instances_are_kept_apart(void **state)
{
    (void)state;
    begin();
    send(0, POINT_pg_lock_request, 1, 0x50, 7, 0);
    send(0, POINT_pg_lock_acquired, 1, 0x50, 7, 0);
    send(1 * US, POINT_pg_lock_request, 2, 0x51, 8, 0);
    send(1 * US, POINT_pg_lock_acquired, 2, 0x51, 8, 0);
    assert_int_equal(group("pg.lock")->waits, 0);
    count_instances();
    assert_int_equal(instances, 2);
    lock_table_free(table);
}

/* The same lock told of by its address, named, and by its instance. */
static void a_lock_told_of_in_two_ways_is_one(void **state)
{
    (void)state;
    begin();
    send(0, POINT_lock_named, 1, 0x7000, (uint64_t)(uintptr_t) "pg.lock", 7);
    send(0, POINT_pg_lock_request, 1, 0x50, 7, 0);
    send(0, POINT_pg_lock_acquired, 1, 0x50, 7, 0);
    send(1 * US, POINT_lock_request, 2, 0x7000, WAIT_mutex, 7);
    send(9 * US, POINT_pg_lock_released, 1, 0x50, 7, 0);
    send(0, POINT_lock_acquired, 2, 0x7000, WAIT_mutex, 7);
    send(1 * US, POINT_lock_released, 2, 0x7000, WAIT_mutex, 7);
    assert_int_equal(group("pg.lock")->waits, 1);
    assert_int_equal(group("pg.lock")->wait.sum, 9 * US);
    count_instances();
    assert_int_equal(instances, 1);
    lock_table_free(table);
}

/* A release that is missing must not make the lock look held for ever. */
static void a_lost_release_is_counted(void **state)
{
    (void)state;
    begin();
    send(0, POINT_pg_lock_request, 1, 0x50, 7, 0);
    send(0, POINT_pg_lock_acquired, 1, 0x50, 7, 0);
    send(900 * US, POINT_pg_lock_request, 2, 0x51, 7, 0);
    send(100 * US, POINT_pg_lock_acquired, 2, 0x51, 7, 0);
    send(5 * US, POINT_pg_lock_released, 2, 0x51, 7, 0);
    assert_int_equal(group("pg.lock")->holds_unmeasured, 1);
    assert_int_equal(group("pg.lock")->hold.sum, 5 * US);
    count_instances();
    assert_int_equal(busy_ns, 5 * US);
    send(5 * US, POINT_pg_lock_released, 1, 0x50, 7, 0);
    assert_int_equal(lock_table_counts(table).unpaired, 1);
    lock_table_free(table);
}

static void captured(uint64_t wait_ns, uint32_t tid, uint64_t lock, uint16_t kind, uint32_t stack,
                     uint32_t owner, uint32_t hold_ns)
{
    send(wait_ns, POINT_lock_waited, tid, lock, wait_ns, (uint64_t)kind << 32 | stack);
    send(0, POINT_lock_holder, tid, lock, (uint64_t)owner << 32 | owner, (uint64_t)hold_ns << 32);
    send(0, POINT_lock_meanwhile, tid, lock, (uint64_t)(wait_ns / 2) << 32, wait_ns / 2);
}

static void captured_waits_are_named_by_their_stacks(void **state)
{
    (void)state;
    static const char lfn[] = "__lll_lock_wait;pthread_rwlock_wrlock;FileStore::lfn_open(coll_t);"
                              "FileStore::_write;clone3";
    static const char own[] = "__lll_lock_wait;pthread_mutex_lock;OSD::frobnicate();clone3";
    begin();
    send(0, POINT_stack_define, 1, 3, (uint64_t)(uintptr_t)lfn, 5);
    send(0, POINT_stack_define, 1, 4, (uint64_t)(uintptr_t)own, 4);
    captured(20 * US, 2, 0x7000, WAIT_rwlock_write, 3, 1, 25 * US);
    captured(30 * US, 3, 0x7000, WAIT_rwlock_write, 3, 1, 0);
    captured(10 * US, 3, 0x8000, WAIT_mutex, 4, 2, 10 * US);
    captured(10 * US, 4, 0x9000, WAIT_allocator, 0, 0, 0);
    captured(99 * US, 4, 0xa000, WAIT_condvar_idle, 0, 0, 0);
    assert_int_equal(lock_table_flush(table), 0);
    const struct lock_group *index = group("filestore.index");
    assert_int_equal(index->waits, 2);
    assert_int_equal(index->wait.sum, 50 * US);
    assert_int_equal(index->hold.count, 1);
    assert_int_equal(index->holds_unmeasured, 1);
    assert_int_equal(index->meanwhile.running, 25 * US);
    assert_int_equal(index->site_count, 1);
    assert_string_equal(index->sites[0].frames, lfn);
    assert_int_equal(group("mutex in OSD::frobnicate()")->waits, 1);
    assert_int_equal(group("allocator")->waits, 1);
    assert_int_equal(lock_table_groups(table)->count, 3); /* who is idle waits for no lock */
    assert_int_equal(lock_table_counts(table).no_stack, 2);
    lock_table_free(table);
}

/* A lock that is asked for in several places is one: by its address, for the stacks do not tell. */
static void a_lock_of_several_places_is_one(void **state)
{
    (void)state;
    static const char one[] = "__lll_lock_wait;pthread_mutex_lock;librbd.so.1+0x62e2e0;clone3";
    static const char other[] = "__lll_lock_wait;pthread_mutex_lock;librbd.so.1+0x3ae6c0;clone3";
    static const char known[] = "__lll_lock_wait;pthread_mutex_lock;PG::lock(bool) const;clone3";
    begin();
    send(0, POINT_stack_define, 1, 3, (uint64_t)(uintptr_t)one, 4);
    send(0, POINT_stack_define, 1, 4, (uint64_t)(uintptr_t)other, 4);
    send(0, POINT_stack_define, 1, 5, (uint64_t)(uintptr_t)known, 4);
    captured(20 * US, 2, 0x7000, WAIT_mutex, 3, 1, 0);
    captured(30 * US, 2, 0x7000, WAIT_mutex, 4, 1, 0);
    captured(10 * US, 2, 0x8000, WAIT_mutex, 4, 1, 0);
    captured(10 * US, 2, 0x9000, WAIT_mutex, 5, 1, 0);
    captured(10 * US, 2, 0x9000, WAIT_mutex, 4, 1, 0);
    assert_int_equal(lock_table_flush(table), 0);
    const struct lock_group *lock = group("mutex in librbd.so.1+0x62e2e0");
    assert_int_equal(lock->waits, 2);
    assert_int_equal(lock->wait.sum, 50 * US);
    assert_int_equal(lock->site_count, 2);
    assert_int_equal(group("mutex in librbd.so.1+0x3ae6c0")->waits, 1);
    assert_int_equal(group("pg.lock")->waits, 2);
    lock_table_free(table);
}

/* Whoever comes to it first, to read or to write, with a time limit or without. */
static void a_lock_has_one_name_however_it_is_asked_for(void **state)
{
    (void)state;
    static const char any[] = "futex_wait;pthread_rwlock_x;Cache::look_up();clone3";
    static const struct {
        uint16_t first, second;
        const char *name, *nameless;
    } locks[] = {
        {WAIT_rwlock_read, WAIT_rwlock_write, "rwlock in Cache::look_up()", "rwlock at 0x8000"},
        {WAIT_rwlock_write, WAIT_rwlock_read, "rwlock in Cache::look_up()", "rwlock at 0x8000"},
        {WAIT_mutex_timed, WAIT_mutex, "mutex in Cache::look_up()", "mutex at 0x8000"},
    };
    for (size_t i = 0; i < sizeof(locks) / sizeof(*locks); i++) {
        begin();
        send(0, POINT_stack_define, 1, 3, (uint64_t)(uintptr_t)any, 4);
        captured(20 * US, 2, 0x7000, locks[i].first, 3, 1, 0);
        captured(20 * US, 2, 0x7000, locks[i].second, 3, 1, 0);
        captured(20 * US, 2, 0x8000, locks[i].first, 0, 1, 0);
        captured(20 * US, 2, 0x8000, locks[i].second, 0, 1, 0);
        assert_int_equal(lock_table_flush(table), 0);
        assert_int_equal(group(locks[i].name)->waits, 2);
        assert_int_equal(group(locks[i].nameless)->waits, 2);
        assert_int_equal(lock_table_groups(table)->count, 2);
        lock_table_free(table);
    }
}

static struct lock_unfinished unfinished(const char *name)
{
    const struct lock_groups *groups = lock_table_groups(table);
    uint16_t number = 0;
    while (strcmp(groups->rows[number]->name, name) != 0)
        number++;
    return lock_table_unfinished(table, number);
}

/* One ended, and two that went on when the capture ended. */
static void a_captured_wait_that_has_not_ended_is_told_apart(void **state)
{
    (void)state;
    begin();
    captured(50 * US, 1, 0x7000, WAIT_mutex, 0, 9, 0);
    captured(900 * US, 2, 0x7000, WAIT_mutex, 0, 9, 0);
    send(0, POINT_lock_counted, 2, 0x7000, 1ull << 32 | 1, LOCK_WAIT_UNFINISHED);
    captured(700 * US, 3, 0x7000, WAIT_mutex, 0, 9, 0);
    send(0, POINT_lock_counted, 3, 0x7000, 1ull << 32 | 1, LOCK_WAIT_UNFINISHED);
    assert_int_equal(lock_table_flush(table), 0);
    const struct lock_unfinished found = unfinished("mutex at 0x7000");
    assert_int_equal(found.count, 2);
    assert_int_equal(found.longest_ns, 900 * US);
    assert_int_equal(group("mutex at 0x7000")->waits, 3);
    lock_table_free(table);
}

/* Thread 2 asks for what thread 1 has, and 3 ms later the trace ends; of thread 3 the acquisition
 * was lost, but it went on. Thread 4 asks for what nobody has. */
static void a_told_request_that_was_not_granted_is_unfinished(void **state)
{
    (void)state;
    begin();
    send(0, POINT_pg_lock_request, 1, 0x50, 7, 0);
    send(0, POINT_pg_lock_acquired, 1, 0x50, 7, 0);
    send(1 * US, POINT_pg_lock_request, 3, 0x52, 7, 0);
    send(1 * US, POINT_pg_lock_request, 2, 0x51, 7, 0);
    send(1 * US, POINT_pg_lock_acquired, 3, 0x52, 8, 0);
    send(1 * US, POINT_pg_lock_request, 4, 0x53, 9, 0);
    send(2998 * US, POINT_pg_lock_released, 3, 0x52, 8, 0);
    const struct lock_unfinished found = unfinished("pg.lock");
    assert_int_equal(found.count, 1);
    assert_int_equal(found.longest_ns, 3000 * US);
    assert_int_equal(group("pg.lock")->waits, 0);
    send(0, POINT_pg_lock_released, 1, 0x50, 7, 0);
    send(0, POINT_pg_lock_acquired, 2, 0x51, 7, 0);
    assert_int_equal(unfinished("pg.lock").count, 0);
    lock_table_free(table);
}

/* What it waits for then is no other lock. */
static void an_owner_that_waits_for_the_lock_itself_owns_it_no_more(void **state)
{
    (void)state;
    begin();
    captured(50 * US, 1, 0x7000, WAIT_mutex, 0, 2, 0);
    send(0, POINT_lock_chain, 1, 0x7000, 0x7000, 40 * US);
    captured(50 * US, 1, 0x7000, WAIT_mutex, 0, 2, 0);
    send(0, POINT_lock_chain, 1, 0x7000, 0x8000, 30 * US);
    assert_int_equal(lock_table_flush(table), 0);
    assert_int_equal(lock_table_groups(table)->rows[0]->waits, 2);
    assert_int_equal(lock_table_groups(table)->rows[0]->meanwhile.chain, 30 * US);
    lock_table_free(table);
}

/* What is captured of a lock that the daemon tells of is not counted twice. */
static void a_wait_that_is_told_and_captured_counts_once(void **state)
{
    (void)state;
    begin();
    send(0, POINT_lock_named, 1, 0x7000, (uint64_t)(uintptr_t) "shard", 0);
    send(0, POINT_lock_acquired, 1, 0x7000, WAIT_mutex, 0);
    send(1 * US, POINT_lock_request, 2, 0x7000, WAIT_mutex, 0);
    send(30 * US, POINT_lock_released, 1, 0x7000, WAIT_mutex, 0);
    send(0, POINT_lock_acquired, 2, 0x7000, WAIT_mutex, 0);
    captured(29 * US, 2, 0x7000, WAIT_mutex, 0, 1, 0);
    assert_int_equal(lock_table_flush(table), 0);
    assert_int_equal(group("shard")->waits, 1);
    assert_int_equal(group("shard")->wait.sum, 30 * US);
    assert_int_not_equal(group("shard")->meanwhile.running, 0);
    lock_table_free(table);
}

/* Nonsense of any kind: nothing crashes, and what finds no room is counted. */
static void hostile_events_are_bounded(void **state)
{
    (void)state;
    begin();
    srandom(1);
    for (int i = 0; i < 300000; i++) {
        uint16_t point = (uint16_t)((uint64_t)random() % POINT_COUNT);
        bool text = point_rows[point].role == ROLE_TEXT;
        char name[32];
        snprintf(name, sizeof(name), "%ld", random() % 1000);
        send((uint64_t)random() % 100000, point, (uint32_t)random() % 20000,
             (uint64_t)random() % 100000, text ? (uint64_t)(uintptr_t)name : (uint64_t)random(),
             (uint64_t)random() << 32 | (uint64_t)random());
    }
    assert_int_equal(lock_table_flush(table), 0);
    assert_int_equal(lock_table_groups(table)->count, LOCK_GROUPS);
    assert_int_not_equal(lock_table_counts(table).no_thread, 0);
    lock_table_free(table);
}

static void rules(void **state)
{
    (void)state;
    char name[64];
    const struct lock_rule *rule = lock_rules_find(
        WAIT_mutex, "pthread_mutex_lock;PG::lock(bool) const;OSD::ShardedOpWQ::_process;clone3");
    assert_string_equal(rule->name, "pg.lock");
    rule = lock_rules_find(WAIT_mutex, "x;SharedLRU<a>::lookup;FileStore::lfn_open;clone3");
    assert_string_equal(rule->name, "filestore.fd_cache");
    /* the innermost frame that any row knows decides */
    rule = lock_rules_find(WAIT_mutex, "pthread_mutex_lock;FileStore::queue_op;"
                                       "Finisher::finisher_thread_entry;clone3");
    assert_string_equal(rule->name, "filestore.op_queue");
    /* a function without a name may ask for any lock, whoever calls it */
    assert_null(lock_rules_find(WAIT_mutex, "pthread_mutex_lock;librbd.so.1+0x62e2e0;"
                                            "Finisher::finisher_thread_entry;clone3"));
    rule = lock_rules_find(WAIT_mutex, "libc.so.6+0x8;Finisher::finisher_thread_entry;clone3");
    assert_string_equal(rule->name, "finisher");
    assert_null(lock_rules_find(WAIT_mutex, "SharedLRU<a>::lookup"));
    assert_null(lock_rules_find(WAIT_mutex, "x;y;z"));
    assert_null(lock_rules_find(WAIT_mutex, NULL));
    assert_true(lock_site_name(WAIT_mutex, "std::mutex::lock;main", name, sizeof(name)));
    assert_string_equal(name, "mutex in main");
    assert_false(lock_site_name(WAIT_mutex, ";;", name, sizeof(name)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told_locks_are_exact),
        cmocka_unit_test(instances_are_kept_apart),
        cmocka_unit_test(a_lock_told_of_in_two_ways_is_one),
        cmocka_unit_test(a_lost_release_is_counted),
        cmocka_unit_test(captured_waits_are_named_by_their_stacks),
        cmocka_unit_test(a_lock_of_several_places_is_one),
        cmocka_unit_test(a_lock_has_one_name_however_it_is_asked_for),
        cmocka_unit_test(a_captured_wait_that_has_not_ended_is_told_apart),
        cmocka_unit_test(a_told_request_that_was_not_granted_is_unfinished),
        cmocka_unit_test(an_owner_that_waits_for_the_lock_itself_owns_it_no_more),
        cmocka_unit_test(a_wait_that_is_told_and_captured_counts_once),
        cmocka_unit_test(hostile_events_are_bounded),
        cmocka_unit_test(rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
