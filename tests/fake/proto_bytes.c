/* SPDX-License-Identifier: Apache-2.0 */
/* proto_bytes.c - tags, lengths and envelopes. */
#include "proto_bytes.h"

#include <string.h>

void pb_varint(struct str *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        str_add_bytes(b, &(uint8_t){(uint8_t)(v | 0x80)}, 1);
    str_add_bytes(b, &(uint8_t){(uint8_t)v}, 1);
}

void pb_tag(struct str *b, uint32_t number, unsigned wire)
{
    pb_varint(b, (uint64_t)number << 3 | wire);
}

void pb_int(struct str *b, uint32_t number, uint64_t v)
{
    pb_tag(b, number, 0);
    pb_varint(b, v);
}

void pb_bytes(struct str *b, uint32_t number, const void *p, size_t len)
{
    pb_tag(b, number, 2);
    pb_varint(b, len);
    str_add_bytes(b, p, len);
}

void pb_text(struct str *b, uint32_t number, const char *s)
{
    pb_bytes(b, number, s, strlen(s));
}

void pb_message(struct str *b, uint32_t number, struct str *message)
{
    pb_bytes(b, number, str_text(message), message->len);
    str_fini(message);
}

void pb_pair(struct str *b, uint32_t number, const char *key, const char *value)
{
    struct str pair = {0};

    pb_text(&pair, 1, key);
    pb_text(&pair, 2, value);
    pb_message(b, number, &pair);
}

void pb_amount(struct str *b, uint32_t number, const char *key, const char *quantity)
{
    struct str pair = {0}, text = {0};

    pb_text(&pair, 1, key);
    pb_text(&text, 1, quantity);
    pb_message(&pair, 2, &text);
    pb_message(b, number, &pair);
}

void pb_envelope(struct str *b, const char *kind, struct str *object)
{
    struct str type = {0};

    str_add_bytes(b, "k8s", 4);
    pb_text(&type, 1, "v1");
    pb_text(&type, 2, kind);
    pb_message(b, 1, &type);
    pb_message(b, 2, object);
    pb_text(b, 3, "");
    pb_text(b, 4, "");
}

void pb_frame(struct str *b, const char *type, struct str *object)
{
    struct str event = {0}, extension = {0};

    pb_text(&event, 1, type);
    pb_message(&extension, 1, object);
    pb_message(&event, 2, &extension);
    for (int shift = 24; shift >= 0; shift -= 8)
        str_add_bytes(b, &(uint8_t){(uint8_t)(event.len >> shift)}, 1);
    str_add_bytes(b, event.s, event.len);
    str_fini(&event);
}
