// The least a closed-loop load generator can do: N connections over a few threads, messages encoded
// by hand, replies only scanned for their end. A protocol supplies connecting, encoding and
// scanning (`pg_floor.c`, `mysql_floor.c`, `resp_floor.c`); the two loops, by epoll and by
// io_uring, are here.
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef OUT_SIZE  // of the longest request
#define OUT_SIZE 160
#endif

typedef struct {
    int fd;
    int out_size, in_size;
    uint32_t statement;
    uint64_t random;
    uint8_t out[OUT_SIZE], in[8192];
} connection;

// Supplied by the protocol.
static void log_in(connection *c, const char *user, const char *database, const char *statement);
static void encode(connection *c, uint32_t row);
static int complete(connection *c);  // 1 when the whole reply was seen; `in_size` is 0 then

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static uint32_t random_row(connection *c, uint32_t rows) {  // xorshift64
    c->random ^= c->random << 13;
    c->random ^= c->random >> 7;
    c->random ^= c->random << 17;
    return c->random % rows + 1;
}

static void send_blocking(connection *c, const void *bytes, size_t size) {
    if (write(c->fd, bytes, size) != (ssize_t)size) fail("write");
}

static void receive_blocking(connection *c) {
    ssize_t got = read(c->fd, c->in + c->in_size, sizeof c->in - c->in_size);
    if (got <= 0) fail("read");
    c->in_size += got;
}

static void open_socket(connection *c, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        fprintf(stderr, "socket path too long: %s\n", path);
        exit(1);
    }
    strcpy(address.sun_path, path);
    c->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (void *)&address, sizeof address)) fail("connect");
}

static long run_epoll(connection *all, int count, uint32_t rows, double end_s) {
    long statements = 0;
    struct epoll_event events[256];
    int epoll = epoll_create1(0);
    for (int i = 0; i < count; i++) {
        struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = &all[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].fd, &wanted);
        encode(&all[i], random_row(&all[i], rows));
        send_blocking(&all[i], all[i].out, all[i].out_size);
    }
    while (now_s() < end_s) {
        int ready = epoll_wait(epoll, events, 256, 1000);
        for (int i = 0; i < ready; i++) {
            connection *c = events[i].data.ptr;
            receive_blocking(c);
            if (!complete(c)) continue;
            statements++;
            encode(c, random_row(c, rows));
            send_blocking(c, c->out, c->out_size);
        }
    }
    return statements;
}

static struct io_uring_sqe *next_entry(struct io_uring *ring) {
    struct io_uring_sqe *entry = io_uring_get_sqe(ring);
    if (entry) return entry;
    io_uring_submit(ring);  // the queue was full
    return io_uring_get_sqe(ring);
}

static void queue_send(struct io_uring *ring, connection *c, uint32_t rows) {
    encode(c, random_row(c, rows));
    struct io_uring_sqe *entry = next_entry(ring);
    io_uring_prep_send(entry, c->fd, c->out, c->out_size, 0);
    entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
    io_uring_sqe_set_data(entry, NULL);
}

static void queue_receive(struct io_uring *ring, connection *c) {
    struct io_uring_sqe *entry = next_entry(ring);
    io_uring_prep_recv(entry, c->fd, c->in + c->in_size, sizeof c->in - c->in_size, 0);
    io_uring_sqe_set_data(entry, c);
}

static long run_uring(connection *all, int count, uint32_t rows, double end_s) {
    long statements = 0;
    struct io_uring ring;
    struct io_uring_params parameters = {0};
    parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    errno = -io_uring_queue_init_params(4096, &ring, &parameters);
    if (errno) fail("io_uring");
    for (int i = 0; i < count; i++) {
        queue_send(&ring, &all[i], rows);
        queue_receive(&ring, &all[i]);
    }
    while (now_s() < end_s) {
        io_uring_submit_and_wait(&ring, 1);
        struct io_uring_cqe *done;
        unsigned head, seen = 0;
        io_uring_for_each_cqe(&ring, head, done) {
            seen++;
            connection *c = io_uring_cqe_get_data(done);
            if (!c) continue;
            if (done->res <= 0) {
                fprintf(stderr, "receive: %s\n", strerror(-done->res));
                exit(1);
            }
            c->in_size += done->res;
            if (complete(c)) {
                statements++;
                queue_send(&ring, c, rows);
            }
            queue_receive(&ring, c);
        }
        io_uring_cq_advance(&ring, seen);
    }
    return statements;
}

static void raise_open_files(void) {
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

static double seconds(struct timeval t) { return t.tv_sec + t.tv_usec * 1e-6; }

typedef struct {
    connection *all;
    int count, processor;  // -1: the kernel places the thread
    uint32_t rows;
    double end_s;
    int by_uring;
    long statements;
} worker;

// The `n`th of the processors that this process may use, over and over.
static int nth_processor(int n) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed)) fail("sched_getaffinity");
    n %= CPU_COUNT(&allowed);
    for (int processor = 0;; processor++)
        if (CPU_ISSET(processor, &allowed) && n-- == 0) return processor;
}

static void *work(void *given) {
    worker *own = given;
    if (own->processor >= 0) {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(own->processor, &only);
        if (sched_setaffinity(0, sizeof only, &only)) fail("sched_setaffinity");
    }
    own->statements =
        (own->by_uring ? run_uring : run_epoll)(own->all, own->count, own->rows, own->end_s);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 10 && argc != 11) {
        fprintf(stderr,
                "usage: %s SOCKET USER DATABASE CONNECTIONS SECONDS epoll|uring ROWS STATEMENT "
                "THREADS [bound]\n",
                argv[0]);
        return 2;
    }
    int count = atoi(argv[4]), threads = atoi(argv[9]);
    uint32_t rows = atoi(argv[7]);
    worker *workers = calloc(threads, sizeof *workers);
    connection *all = calloc(count, sizeof *all);
    raise_open_files();
    for (int i = 0; i < count; i++) {
        all[i].random = 88172645463325252ULL + 7919 * i;
        open_socket(&all[i], argv[1]);
        log_in(&all[i], argv[2], argv[3], argv[8]);
    }
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    double start_s = now_s(), end_s = start_s + atof(argv[5]);
    long statements = 0;
    connection *next = all;
    for (int i = 0; i < threads; i++) {
        workers[i] = (worker){next, (count - i + threads - 1) / threads,
                              argc == 11 ? nth_processor(i) : -1, rows, end_s,
                              !strcmp(argv[6], "uring"), 0};
        next += workers[i].count;
    }
    pthread_t *others = calloc(threads, sizeof *others);
    for (int i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, work, &workers[i])) fail("pthread_create");
    work(&workers[0]);
    for (int i = 0; i < threads; i++) {
        if (i) pthread_join(others[i], NULL);
        statements += workers[i].statements;
    }
    double window_s = now_s() - start_s;
    getrusage(RUSAGE_SELF, &after);
    printf("{\"statements\": %ld, \"window_s\": %.6f, \"user_s\": %.6f, \"system_s\": %.6f}\n",
           statements, window_s, seconds(after.ru_utime) - seconds(before.ru_utime),
           seconds(after.ru_stime) - seconds(before.ru_stime));
    fflush(stdout);
    _exit(0);  // with statements in flight: the server will notice
}
