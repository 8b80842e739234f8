/* SPDX-License-Identifier: Apache-2.0 */
/* si_proto.c - writes JSON objects as protobuf, field by field of a table.
 *
 * Tables nest as the schemas do, five or six deep and never in a circle, so a message calls itself
 * for the messages inside it no deeper than that, whatever a client sent.
 */
#include "si_proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "si_json.h"

enum { WIRE_INT = 0, WIRE_BYTES = 2, VARINT_MAX = 10 };

static size_t varint(uint8_t out[VARINT_MAX], uint64_t v)
{
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) {
        out[n++] = (uint8_t)(v | 0x80);
    }
    out[n++] = (uint8_t)v;
    return n;
}

static void put_varint(struct strbuf *b, uint64_t v)
{
    uint8_t bytes[VARINT_MAX];
    strbuf_add(b, bytes, varint(bytes, v));
}

static void put_tag(struct strbuf *b, unsigned number, unsigned wire)
{
    put_varint(b, (uint64_t)number << 3 | wire);
}

void proto_put_int(struct strbuf *b, unsigned number, uint64_t value)
{
    put_tag(b, number, WIRE_INT);
    put_varint(b, value);
}

void proto_put_bytes(struct strbuf *b, unsigned number, const void *bytes, size_t len)
{
    put_tag(b, number, WIRE_BYTES);
    put_varint(b, len);
    strbuf_add(b, bytes, len);
}

static void put_text(struct strbuf *b, unsigned number, const char *text)
{
    proto_put_bytes(b, number, text, strlen(text));
}

/* Where a message inside begins; end_message() puts its length there. */
static size_t begin_message(struct strbuf *b, unsigned number)
{
    put_tag(b, number, WIRE_BYTES);
    return b->len;
}

static void end_message(struct strbuf *b, size_t begin)
{
    uint8_t bytes[VARINT_MAX];
    size_t len = b->len - begin;
    size_t n = varint(bytes, len);
    strbuf_add(b, bytes, n); /* for the room */
    memmove(b->data + begin + n, b->data + begin, len);
    memcpy(b->data + begin, bytes, n);
}

static void put_time(struct strbuf *b, unsigned number, const cJSON *json)
{
    struct tm tm = {0};
    if (!cJSON_IsString(json) || strptime(json->valuestring, "%Y-%m-%dT%H:%M:%S", &tm) == NULL) {
        return;
    }
    size_t begin = begin_message(b, number);
    proto_put_int(b, 1, (uint64_t)timegm(&tm));
    proto_put_int(b, 2, 0);
    end_message(b, begin);
}

static void put_pair(struct strbuf *b, const struct proto_field *field, const cJSON *item)
{
    char number[32];
    const char *text = cJSON_IsString(item) ? item->valuestring : "";
    if (cJSON_IsNumber(item)) {
        (void)snprintf(number, sizeof(number), "%.15g", item->valuedouble);
        text = number;
    }
    size_t begin = begin_message(b, field->number);
    put_text(b, 1, item->string);
    if (field->form == FORM_TEXTS) {
        put_text(b, 2, text);
    } else {
        size_t quantity = begin_message(b, 2);
        put_text(b, 1, text);
        end_message(b, quantity);
    }
    end_message(b, begin);
}

static void put_raw(struct strbuf *b, unsigned number, const cJSON *json)
{
    char *text = cJSON_PrintUnformatted(json);
    size_t begin = begin_message(b, number);
    put_text(b, 1, text != NULL ? text : "");
    end_message(b, begin);
    free(text);
}

static void put_element(struct strbuf *b, const struct proto_field *field, const cJSON *item)
{
    if (field->table == NULL) {
        put_text(b, field->number, cJSON_IsString(item) ? item->valuestring : "");
        return;
    }
    size_t begin = begin_message(b, field->number);
    proto_put(b, field->table, item);
    end_message(b, begin);
}

static void put_all(struct strbuf *b, const struct proto_field *field, const cJSON *json)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, json)
    {
        if (field->form == FORM_LIST) {
            put_element(b, field, item);
        } else if (item->string != NULL) {
            put_pair(b, field, item);
        }
    }
}

static void put_field(struct strbuf *b, const struct proto_field *field, const cJSON *json)
{
    switch (field->form) {
    case FORM_TEXT:
        if (cJSON_IsString(json)) {
            put_text(b, field->number, json->valuestring);
        }
        break;
    case FORM_INT:
        if (cJSON_IsNumber(json)) {
            proto_put_int(b, field->number, (uint64_t)(int64_t)json->valuedouble);
        }
        break;
    case FORM_BOOL:
        proto_put_int(b, field->number, cJSON_IsTrue(json) ? 1 : 0);
        break;
    case FORM_TIME:
        put_time(b, field->number, json);
        break;
    case FORM_RAW:
        put_raw(b, field->number, json);
        break;
    case FORM_MESSAGE:
        put_element(b, field, json);
        break;
    case FORM_TEXTS:
    case FORM_AMOUNTS:
    case FORM_LIST:
        put_all(b, field, json);
        break;
    }
}

void proto_put(struct strbuf *b, const struct proto_field *table, const cJSON *json)
{
    for (const struct proto_field *field = table; field->key != NULL; field++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, field->key);
        if (item != NULL && !cJSON_IsNull(item)) {
            put_field(b, field, item);
        }
    }
}

void proto_put_envelope(struct strbuf *b, const char *kind, const struct strbuf *message)
{
    strbuf_add(b, "k8s", 4); /* with its NUL */
    size_t type = begin_message(b, 1);
    put_text(b, 1, "v1");
    put_text(b, 2, kind);
    end_message(b, type);
    proto_put_bytes(b, 2, message->data != NULL ? message->data : "", message->len);
    put_text(b, 3, "");
    put_text(b, 4, "");
}

void proto_put_event(struct strbuf *b, const char *type, const char *kind,
                     const struct strbuf *message)
{
    struct strbuf object = {0};
    proto_put_envelope(&object, kind, message);
    size_t begin = b->len;
    strbuf_add(b, "\0\0\0\0", 4);
    put_text(b, 1, type);
    size_t extension = begin_message(b, 2);
    proto_put_bytes(b, 1, object.data, object.len);
    end_message(b, extension);
    size_t len = b->len - begin - 4;
    for (size_t i = 0; i < 4; i++) {
        b->data[begin + i] = (char)(uint8_t)(len >> (24 - 8 * i));
    }
    strbuf_fini(&object);
}

void proto_put_event_json(struct strbuf *b, const char *type, const cJSON *json)
{
    const char *kind = json_string(json, "kind");
    const struct proto_field *table = proto_table(kind);
    struct strbuf message = {0};
    if (table != NULL) {
        proto_put(&message, table, json);
    }
    proto_put_event(b, type, kind, &message);
    strbuf_fini(&message);
}

bool proto_put_answer(struct strbuf *b, const char *text, size_t len)
{
    cJSON *json = cJSON_ParseWithLength(text, len);
    const char *kind = json_string(json, "kind");
    const struct proto_field *table = proto_table(kind);
    if (table != NULL) {
        struct strbuf message = {0};
        proto_put(&message, table, json);
        proto_put_envelope(b, kind, &message);
        strbuf_fini(&message);
    }
    cJSON_Delete(json);
    return table != NULL;
}
