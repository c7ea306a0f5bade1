// The floor under a load generator for Redis and Valkey: pipelines of GET of random keys. The
// statement is two numbers: commands in a pipeline, and number of keys. The argument `user` is the
// password. Replies are scanned by their sizes.
#define OUT_SIZE 1024
#include "loop.h"

static uint32_t key_count;

static void log_in(connection *c, const char *user, const char *database, const char *statement) {
    (void)database;
    uint8_t message[512];
    int size = snprintf((char *)message, sizeof message, "*2\r\n$4\r\nAUTH\r\n$%zu\r\n%s\r\n",
                        strlen(user), user);
    send_blocking(c, message, size);
    while (c->in_size < 5) receive_blocking(c);
    if (memcmp(c->in, "+OK\r\n", 5)) {
        fprintf(stderr, "server error: %.*s\n", c->in_size, c->in);
        exit(1);
    }
    c->in_size = 0;
    if (sscanf(statement, "%u %u", &c->statement, &key_count) != 2) exit(2);
}

static void encode(connection *c, uint32_t row) {
    char *at = (char *)c->out;
    for (uint32_t i = 0; i < c->statement; i++) {
        uint32_t number = (i ? random_row(c, key_count) : row) - 1;
        memcpy(at, "*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000000\r\n", 36);
        for (char *digit = at + 33; number; number /= 10) *digit-- = '0' + number % 10;
        at += 36;
    }
    c->out_size = (uint8_t *)at - c->out;
}

static int complete(connection *c) {
    int at = 0;
    for (uint32_t seen = 0; seen < c->statement; seen++) {
        int size = 0, place = at + 1;
        if (place < c->in_size && c->in[at] != '$') {
            fprintf(stderr, "server error: %.*s\n", c->in_size - at, c->in + at);
            exit(1);
        }
        while (place < c->in_size && c->in[place] != '\r') size = size * 10 + c->in[place++] - '0';
        at = place + 2 + size + 2;
        if (at > c->in_size) return 0;  // incomplete: scanned anew from its start with more bytes
    }
    c->in_size = 0;
    return 1;
}
