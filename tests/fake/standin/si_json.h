/* SPDX-License-Identifier: Apache-2.0 */
/* si_json.h - short ways to read and change cJSON objects, for the stand-in API server.
 *
 * All take NULL or a value of another type as "not there", so that bytes from outside need no
 * checks at every step.
 */
#ifndef QUEUED_STANDIN_JSON_H
#define QUEUED_STANDIN_JSON_H

#include <cjson/cJSON.h>
#include <stdint.h>

/* Member b of member a of json; NULL when not there. */
cJSON *json_at(const cJSON *json, const char *a, const char *b);
/* The same as text, "" when it is no string. Borrowed. */
const char *json_text(const cJSON *json, const char *a, const char *b);
/* Member key as text, "" when it is no string. Borrowed. */
const char *json_string(const cJSON *json, const char *key);
/* Member key as a number, other when it is none. */
double json_number(const cJSON *json, const char *key, double other);

/* Set a member, in the place of an older one when there is one. */
void json_set(cJSON *json, const char *key, const char *value);
void json_set_number(cJSON *json, const char *key, double value);
void json_set_item(cJSON *json, const char *key, cJSON *item);
/* The same, only when the member is not there. */
void json_default(cJSON *json, const char *key, const char *value);
void json_default_item(cJSON *json, const char *key, cJSON *item);
/* The object member key, made when it is not there (or no object). */
cJSON *json_object(cJSON *json, const char *key);
/* The array member key, made when it is not there (or no array). */
cJSON *json_array(cJSON *json, const char *key);

/* Whole nvidia.com/gpu of a resource list; 0 when there is none. */
uint32_t json_gpus(const cJSON *resources);

#endif
