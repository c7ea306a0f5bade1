// A proxy between load generator and PostgreSQL that says how long each statement was with it.
//
//   stamping_proxy SOCKET FILE
//
// Prints a loopback port and passes what arrives there on to the server's Unix socket, and back.
// A statement counts if it is one Bind, Execute, Sync whose last two parameters are moments of the
// caller (see stamped_select.lua). When standard input ends, one `stamps` a statement is written to
// FILE.
//
// It arrives when the kernel puts it into the socket here (SO_TIMESTAMPNS), and is answered right
// before the last bytes of the reply are given to the kernel. All moments are nanoseconds of
// CLOCK_REALTIME.
//
// Behind the port it prints how long the kernel takes from a call of `send` to its stamp, in
// nanoseconds: the mean of sends to itself, whose memory is warm and whom nobody interrupts.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
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

typedef struct {
    int64_t connection;
    int64_t asked_ns;    // the caller's: before it asked for the statement
    int64_t resumed_ns;  // the caller's: after its last statement was answered; 0: the first
    int64_t arrived_ns, answered_ns;
} stamps;

typedef struct {
    int64_t number;
    int client, server;
    int waiting;  // `now` has arrived and is not answered
    stamps now;
} connection;

typedef struct {
    connection *of;  // NULL: the listener
    int from_server;
} source;

static stamps *all;
static size_t count, room;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int64_t nanoseconds(struct timespec t) { return t.tv_sec * 1000000000LL + t.tv_nsec; }

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return nanoseconds(t);
}

static void keep(const stamps *one) {
    if (count == room) {
        room = room ? 2 * room : 1 << 17;
        all = realloc(all, room * sizeof *all);
        if (!all) fail("realloc");
    }
    all[count++] = *one;
}

static void watch(int epoll, int fd, connection *of, int from_server) {
    source *data = malloc(sizeof *data);
    *data = (source){of, from_server};
    struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = data};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted)) fail("epoll_ctl");
}

static int listen_anywhere(void) {
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof place;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (void *)&place, size) || listen(fd, 4096)) fail("listen");
    return fd;
}

static struct sockaddr_in address_of(int fd) {
    struct sockaddr_in place;
    socklen_t size = sizeof place;
    if (getsockname(fd, (void *)&place, &size)) fail("getsockname");
    return place;
}

static void stamp_arrivals(int fd) {
    int on = 1;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) ||
        setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on))
        fail("setsockopt");
}

// Receives at most `size` bytes and says when the last of them arrived; 0: not stamped.
static ssize_t receive(int fd, uint8_t *in, size_t size, int64_t *arrived_ns) {
    uint8_t control[256];
    struct iovec place = {in, size};
    struct msghdr message = {.msg_iov = &place, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t got = recvmsg(fd, &message, 0);
    *arrived_ns = 0;
    if (got <= 0) return got;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
        struct timespec arrived;
        memcpy(&arrived, CMSG_DATA(part), sizeof arrived);
        *arrived_ns = nanoseconds(arrived);
    }
    return got;
}

// The sockets stay open: the kernel begins to stamp some time after the first socket wants it, and
// ends with the last one.
static int64_t mean_way_ns(int listener) {
    enum { TIMES = 5000, BYTES = 64 };
    struct sockaddr_in place = address_of(listener);
    uint8_t bytes[BYTES] = {0};
    int near = socket(AF_INET, SOCK_STREAM, 0);
    if (near < 0 || connect(near, (void *)&place, sizeof place)) fail("connect");
    int far = accept(listener, NULL, NULL);
    if (far < 0) fail("accept");
    stamp_arrivals(near);
    stamp_arrivals(far);
    int64_t sum_ns = 0;
    for (int stamped = 0; stamped < TIMES;) {
        int64_t arrived_ns, begin_ns = now_ns();
        if (send(near, bytes, BYTES, MSG_NOSIGNAL) != BYTES) fail("send");
        if (receive(far, bytes, BYTES, &arrived_ns) != BYTES) fail("receive");
        if (!arrived_ns) continue;
        sum_ns += arrived_ns - begin_ns;
        stamped++;
    }
    return sum_ns / TIMES;
}

static void take_connection(int epoll, int listener, const char *path) {
    static int64_t number;
    connection *c = calloc(1, sizeof *c);
    struct sockaddr_un server = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof server.sun_path) {
        fprintf(stderr, "socket path too long: %s\n", path);
        exit(1);
    }
    strcpy(server.sun_path, path);
    c->number = number++;
    c->client = accept(listener, NULL, NULL);
    c->server = socket(AF_UNIX, SOCK_STREAM, 0);
    if (c->client < 0 || c->server < 0) fail("accept");
    if (connect(c->server, (void *)&server, sizeof server)) fail("connect");
    stamp_arrivals(c->client);
    watch(epoll, c->client, c, 0);
    watch(epoll, c->server, c, 1);
}

static void end_connection(connection *c) {
    if (c->waiting) {
        fprintf(stderr, "a connection ended before its statement was answered\n");
        exit(1);
    }
    if (c->client >= 0) close(c->client);
    if (c->server >= 0) close(c->server);
    c->client = c->server = -1;
}

static void pass_on(int fd, const uint8_t *bytes, size_t size) {
    while (size) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EPIPE || errno == ECONNRESET) return;
            fail("send");
        }
        bytes += sent;
        size -= sent;
    }
}

static uint32_t get32(const uint8_t *at) {
    uint32_t value;
    memcpy(&value, at, 4);
    return ntohl(value);
}

// Reads a value in digits and goes on behind it; 0: there is none.
static int moment(const uint8_t **at, const uint8_t *end, int64_t *value) {
    if (end - *at < 4) return 0;
    uint32_t size = get32(*at);
    if (size > 20 || end - *at - 4 < (ptrdiff_t)size) return 0;
    *value = 0;
    for (uint32_t i = 0; i < size; i++) *value = *value * 10 + (*at)[4 + i] - '0';
    *at += 4 + size;
    return 1;
}

// 1: a Bind with three values in text, the last two of them moments.
static int read_moments(const uint8_t *in, size_t size, stamps *into) {
    if (size < 7 || in[0] != 'B') return 0;
    uint32_t length = get32(in + 1);
    if (length >= size) return 0;
    const uint8_t *end = in + 1 + length, *at = in + 5;
    for (int name = 0; name < 2; name++) {
        at = memchr(at, 0, end - at);
        if (!at) return 0;
        at++;
    }
    int64_t row;
    if (end - at < 4 || memcmp(at, "\0\0\0\3", 4)) return 0;
    at += 4;
    return moment(&at, end, &row) && moment(&at, end, &into->asked_ns) &&
           moment(&at, end, &into->resumed_ns);
}

static void from_client(connection *c) {
    static uint8_t in[65536];
    stamps one = {.connection = c->number};
    ssize_t size = receive(c->client, in, sizeof in, &one.arrived_ns);
    if (size <= 0) {
        end_connection(c);
        return;
    }
    if (read_moments(in, size, &one)) {
        if (!one.arrived_ns) {
            fprintf(stderr, "the kernel has not stamped a statement's arrival\n");
            exit(1);
        }
        if (c->waiting || memcmp(in + size - 5, "S\0\0\0\4", 5)) {
            fprintf(stderr, "statements that overlap or come in parts can't be timed\n");
            exit(1);
        }
        c->waiting = 1;
        c->now = one;
    }
    pass_on(c->server, in, size);
}

static void from_server(connection *c) {
    static uint8_t in[65536];
    ssize_t size = read(c->server, in, sizeof in);
    if (size <= 0) {
        end_connection(c);
        return;
    }
    // ReadyForQuery ends a reply.
    if (c->waiting && size >= 6 && !memcmp(in + size - 6, "Z\0\0\0\5", 5)) {
        c->waiting = 0;
        c->now.answered_ns = now_ns();
        keep(&c->now);
    }
    pass_on(c->client, in, size);
}

static void take(int epoll, int listener, const char *path, const source *from) {
    if (!from->of)
        take_connection(epoll, listener, path);
    else if (from->of->client < 0)
        return;  // it ended with an event before this one
    else if (from->from_server)
        from_server(from->of);
    else
        from_client(from->of);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s SOCKET FILE\n", argv[0]);
        return 2;
    }
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    int epoll = epoll_create1(0), listener = listen_anywhere();
    struct epoll_event ready[256], ended = {.events = EPOLLIN, .data.ptr = NULL};
    printf("%d %lld\n", ntohs(address_of(listener).sin_port), (long long)mean_way_ns(listener));
    fflush(stdout);
    watch(epoll, listener, NULL, 0);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &ended)) fail("epoll_ctl");
    for (int over = 0; !over;) {
        int found = epoll_wait(epoll, ready, 256, -1);
        for (int i = 0; i < found; i++) {
            if (ready[i].data.ptr)
                take(epoll, listener, argv[1], ready[i].data.ptr);
            else
                over = 1;
        }
    }
    FILE *out = fopen(argv[2], "wb");
    if (!out || fwrite(all, sizeof *all, count, out) != count || fclose(out)) fail(argv[2]);
    return 0;
}
