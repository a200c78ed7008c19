/* SPDX-License-Identifier: MIT */
#include "debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "err.h"

/* What is used of libdebuginfod (elfutils 0.179 and later). */
struct library {
    void *(*begin)(void);
    void (*end)(void *client);
    int (*find)(void *client, const unsigned char *build_id, int size, char **path);
    void (*set_progress)(void *client, int (*progress)(void *client, long a, long b));
    void (*set_data)(void *client, void *data);
    void *(*get_data)(void *client);
};

struct question {
    const struct stack_module *module; /* never followed by the thread */
    struct build_id build_id;
    enum { ASKED, ANSWERED, OVER } state;
    int fd; /* owned, when ANSWERED */
};

/* Of the opener and of the thread: the last one frees it. */
struct debuginfod {
    struct library library;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_bool stop;
    atomic_uint answers; /* that nobody has fetched */
    unsigned users;
    struct question *questions; /* owned */
    size_t count, capacity;
};

static void drop(struct debuginfod *client)
{
    pthread_mutex_lock(&client->lock);
    bool last = --client->users == 0;
    pthread_mutex_unlock(&client->lock);
    if (!last)
        return;
    for (size_t i = 0; i < client->count; i++)
        if (client->questions[i].state == ANSWERED && client->questions[i].fd >= 0)
            close(client->questions[i].fd);
    free(client->questions);
    pthread_mutex_destroy(&client->lock);
    pthread_cond_destroy(&client->changed);
    free(client);
}

/* The library calls it while it waits: other than 0 is the end of the transfer. */
static int go_on(void *handle, long a, long b)
{
    (void)a;
    (void)b;
    void *(*get_data)(void *) = (void *(*)(void *))dlsym(RTLD_DEFAULT, "debuginfod_get_user_data");
    struct debuginfod *client = get_data ? get_data(handle) : NULL;
    return client ? atomic_load(&client->stop) : 0;
}

/* Waits for a question; its place, or -1 at the end. */
static long next_question(struct debuginfod *client, struct build_id *id)
{
    long place = -1;
    pthread_mutex_lock(&client->lock);
    while (place < 0 && !atomic_load(&client->stop)) {
        for (size_t i = 0; i < client->count && place < 0; i++)
            if (client->questions[i].state == ASKED)
                place = (long)i;
        if (place < 0)
            pthread_cond_wait(&client->changed, &client->lock);
        else
            *id = client->questions[place].build_id;
    }
    pthread_mutex_unlock(&client->lock);
    return place;
}

static void *ask_servers(void *context)
{
    struct debuginfod *client = context;
    void *handle = client->library.begin();
    struct build_id id;
    long place;
    if (handle) {
        client->library.set_data(handle, client);
        client->library.set_progress(handle, go_on);
    }
    while (handle && (place = next_question(client, &id)) >= 0) {
        int fd = client->library.find(handle, id.bytes, (int)id.size, NULL);
        pthread_mutex_lock(&client->lock);
        client->questions[place].fd = fd;
        client->questions[place].state = fd >= 0 ? ANSWERED : OVER;
        pthread_mutex_unlock(&client->lock);
        if (fd >= 0)
            atomic_fetch_add(&client->answers, 1);
    }
    if (handle)
        client->library.end(handle);
    drop(client);
    return NULL;
}

static bool load_library(struct library *library)
{
    /* it stays loaded: its thread may outlive us */
    void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (!handle)
        return false;
    *(void **)&library->begin = dlsym(handle, "debuginfod_begin");
    *(void **)&library->end = dlsym(handle, "debuginfod_end");
    *(void **)&library->find = dlsym(handle, "debuginfod_find_debuginfo");
    *(void **)&library->set_progress = dlsym(handle, "debuginfod_set_progressfn");
    *(void **)&library->set_data = dlsym(handle, "debuginfod_set_user_data");
    *(void **)&library->get_data = dlsym(handle, "debuginfod_get_user_data");
    return library->begin && library->end && library->find && library->set_progress &&
           library->set_data && library->get_data;
}

int debuginfod_open(struct debuginfod **opened)
{
    struct library library;
    pthread_t thread;
    sigset_t all, before;

    *opened = NULL;
    if (!load_library(&library))
        return err_set(ENOTSUP, "libdebuginfod is not there: install libdebuginfod1");
    struct debuginfod *client = calloc(1, sizeof(*client));
    if (!client)
        return err_no_memory();
    client->library = library;
    client->users = 2;
    pthread_mutex_init(&client->lock, NULL);
    pthread_cond_init(&client->changed, NULL);
    /* signals are for the program's own threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, ask_servers, client);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        client->users = 1;
        drop(client);
        return err_set(error, "cannot start a thread that asks debuginfod");
    }
    pthread_detach(thread);
    *opened = client;
    return 0;
}

void debuginfod_close(struct debuginfod *client)
{
    if (!client)
        return;
    pthread_mutex_lock(&client->lock);
    atomic_store(&client->stop, true);
    pthread_cond_signal(&client->changed);
    pthread_mutex_unlock(&client->lock);
    drop(client);
}

void debuginfod_ask(struct debuginfod *client, struct stack_module *module)
{
    pthread_mutex_lock(&client->lock);
    bool known = module->build_id.size == 0;
    for (size_t i = 0; i < client->count && !known; i++)
        known = client->questions[i].module == module;
    if (!known && client->count == client->capacity) {
        size_t capacity = client->capacity ? 2 * client->capacity : 16;
        void *grown = realloc(client->questions, capacity * sizeof(*client->questions));
        if (grown) {
            client->questions = grown;
            client->capacity = capacity;
        }
    }
    if (!known && client->count < client->capacity) {
        client->questions[client->count++] =
            (struct question){.module = module, .build_id = module->build_id, .fd = -1};
        pthread_cond_signal(&client->changed);
    }
    pthread_mutex_unlock(&client->lock);
}

bool debuginfod_answer(struct debuginfod *client, const struct stack_module **module, int *fd)
{
    bool found = false;
    if (atomic_load(&client->answers) == 0)
        return false;
    pthread_mutex_lock(&client->lock);
    for (size_t i = 0; i < client->count && !found; i++)
        if (client->questions[i].state == ANSWERED) {
            client->questions[i].state = OVER;
            *module = client->questions[i].module;
            *fd = client->questions[i].fd;
            atomic_fetch_sub(&client->answers, 1);
            found = true;
        }
    pthread_mutex_unlock(&client->lock);
    return found;
}
