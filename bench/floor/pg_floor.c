// The floor under a PostgreSQL load generator: Bind, Execute, Sync of one prepared statement;
// replies scanned for ReadyForQuery.
#include "loop.h"

#include <arpa/inet.h>

static uint8_t *put32(uint8_t *at, uint32_t value) {
    value = htonl(value);
    memcpy(at, &value, 4);
    return at + 4;
}

static uint8_t *put16(uint8_t *at, uint16_t value) {
    value = htons(value);
    memcpy(at, &value, 2);
    return at + 2;
}

static uint8_t *put_string(uint8_t *at, const char *text) {
    return (uint8_t *)stpcpy((char *)at, text) + 1;
}

static void encode(connection *c, uint32_t row) {
    char number[16];
    int digits = sprintf(number, "%u", row);
    uint8_t *at = c->out;
    *at++ = 'B';
    uint8_t *size = at;
    at = put_string(put_string(at + 4, ""), "s");
    at = put16(put16(at, 0), 1);
    at = put32(at, digits);
    memcpy(at, number, digits);
    at = put16(at + digits, 0);
    put32(size, at - size);
    *at++ = 'E';
    at = put32(at, 9);
    at = put32(put_string(at, ""), 0);
    *at++ = 'S';
    at = put32(at, 4);
    c->out_size = at - c->out;
}

static int complete(connection *c) {
    int at = 0;
    while (c->in_size - at >= 5) {
        uint32_t size;
        memcpy(&size, c->in + at + 1, 4);
        size = ntohl(size);
        if (c->in_size - at < (int)size + 1) break;
        if (c->in[at] == 'E') {
            fprintf(stderr, "server error: %s\n", c->in + at + 5);
            exit(1);
        }
        if (c->in[at] == 'Z') {
            c->in_size = 0;
            return 1;
        }
        at += size + 1;
    }
    memmove(c->in, c->in + at, c->in_size - at);
    c->in_size -= at;
    return 0;
}

static void await(connection *c) {
    do receive_blocking(c);
    while (!complete(c));
}

static void log_in(connection *c, const char *user, const char *database, const char *statement) {
    uint8_t message[512], *at = put32(message + 4, 196608);
    at = put_string(put_string(at, "user"), user);
    at = put_string(put_string(at, "database"), database);
    *at++ = 0;
    put32(message, at - message);
    send_blocking(c, message, at - message);
    await(c);
    at = message;
    *at++ = 'P';
    uint8_t *size = at;
    at = put_string(at + 4, "s");
    at = put16(put_string(at, statement), 0);
    put32(size, at - size);
    *at++ = 'S';
    at = put32(at, 4);
    send_blocking(c, message, at - message);
    await(c);
}
