// The floor under a MySQL load generator: COM_STMT_EXECUTE of one prepared statement; replies
// scanned for the end of their rows. Accounts without a password only.
#include "loop.h"

enum { HEADER = 4, COM_STMT_PREPARE = 0x16, COM_STMT_EXECUTE = 0x17, TYPE_LONG = 3 };
enum { PROTOCOL_41 = 0x200, SECURE_CONNECTION = 0x8000, WITH_DATABASE = 8, PLUGIN_AUTH = 0x80000 };
enum { CACHE_METADATA = 0x10 };  // MariaDB's: columns are defined when prepared, not each time

static uint32_t get32(const uint8_t *at) {
    uint32_t value;
    memcpy(&value, at, 4);
    return value;
}

static uint8_t *put32(uint8_t *at, uint32_t value) {
    memcpy(at, &value, 4);
    return at + 4;
}

static uint8_t *put_string(uint8_t *at, const char *text) {
    return (uint8_t *)stpcpy((char *)at, text) + 1;
}

static uint32_t body_size(const uint8_t *packet) { return get32(packet) & 0xffffff; }

static void seal(uint8_t *packet, const uint8_t *end, uint8_t sequence) {
    put32(packet, (uint32_t)(end - packet - HEADER) | (uint32_t)sequence << 24);
}

static void check(const uint8_t *packet) {
    if (packet[HEADER] != 0xff) return;
    fprintf(stderr, "server error: %.*s\n", (int)body_size(packet) - 3, packet + HEADER + 3);
    exit(1);
}

static void encode(connection *c, uint32_t row) {
    uint8_t *at = c->out + HEADER;
    *at++ = COM_STMT_EXECUTE;
    at = put32(at, c->statement);
    *at++ = 0;           // no cursor
    at = put32(at, 1);   // iterations
    *at++ = 0;           // no parameter is NULL
    *at++ = 1;           // types follow
    *at++ = TYPE_LONG;
    *at++ = 0;
    at = put32(at, row);
    seal(c->out, at, 0);
    c->out_size = at - c->out;
}

// Column count, columns if they are defined again, EOF, rows, EOF: two EOF packets, or one OK or
// error packet alone.
static int complete(connection *c) {
    int at = 0, ends = 0;
    while (c->in_size - at >= HEADER + 1) {
        uint8_t *packet = c->in + at;
        int size = body_size(packet);
        if (c->in_size - at < HEADER + size) break;
        check(packet);
        ends += packet[HEADER] == 0xfe && size < 9;
        if (ends == 2 || (at == 0 && packet[HEADER] == 0)) {
            c->in_size = 0;
            return 1;
        }
        at += HEADER + size;
    }
    return 0;  // replies fit the buffer: what has come is scanned again with what follows
}

// One packet, whole, at the start of `in`; what follows it is kept.
static void await_packet(connection *c) {
    while (c->in_size < HEADER || c->in_size < (int)(HEADER + body_size(c->in)))
        receive_blocking(c);
    check(c->in);
}

static void drop_packet(connection *c) {
    int size = HEADER + body_size(c->in);
    memmove(c->in, c->in + size, c->in_size - size);
    c->in_size -= size;
}

static void prepare(connection *c, const char *text) {
    uint8_t message[512];
    message[HEADER] = COM_STMT_PREPARE;
    uint8_t *end = put_string(message + HEADER + 1, text) - 1;
    seal(message, end, 0);
    send_blocking(c, message, end - message);
    await_packet(c);
    c->statement = get32(c->in + HEADER + 1);
    int columns = c->in[HEADER + 5], parameters = c->in[HEADER + 7];
    int packets = 1 + columns + (columns > 0) + parameters + (parameters > 0);
    while (packets--) {
        await_packet(c);
        drop_packet(c);
    }
}

static void log_in(connection *c, const char *user, const char *database, const char *statement) {
    await_packet(c);
    drop_packet(c);
    uint8_t message[512] = {0}, *at = message + HEADER;
    at = put32(at, PROTOCOL_41 | SECURE_CONNECTION | WITH_DATABASE | PLUGIN_AUTH);
    at = put32(at, 1 << 24);
    *at = 45;  // utf8mb4
    at = put32(at + 20, CACHE_METADATA);
    at = put_string(at, user);
    *at++ = 0;  // no password
    at = put_string(at, database);
    at = put_string(at, "mysql_native_password");
    seal(message, at, 1);
    send_blocking(c, message, at - message);
    await_packet(c);
    if (c->in[HEADER] == 0xfe) {  // another plugin first; an empty password is an empty answer
        uint8_t answer[HEADER];
        seal(answer, answer + HEADER, c->in[3] + 1);
        drop_packet(c);
        send_blocking(c, answer, HEADER);
        await_packet(c);
    }
    drop_packet(c);
    prepare(c, statement);
}
