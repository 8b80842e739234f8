# SPDX-License-Identifier: Apache-2.0
# The only makefile: everything is built below $(B), objects mirror the sources.
# Layers become archives, linked lowest last: util, core, port, store | kube | rpc | http, engine.

B ?= build
V ?= 0
ifeq ($(origin CC),default)
CC := gcc
endif
PROTOC_C ?= protoc-c
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
SYSCONFDIR ?= $(PREFIX)/etc
VERSION := $(shell cat VERSION)

DEBIAN_PACKAGES := build-essential pkg-config protobuf-c-compiler libprotobuf-c-dev libzmq3-dev \
	liblmdb-dev libcurl4-openssl-dev libcjson-dev libyaml-dev libmicrohttpd-dev libsodium-dev \
	uthash-dev libcmocka-dev universal-ctags python3 openssl clang clang-format clang-tidy \
	libclang-rt-14-dev cppcheck shellcheck codespell scdoc mandoc

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
OPT ?= -O2 -g
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
PKGS := libzmq libprotobuf-c lmdb libcurl libcjson yaml-0.1 libmicrohttpd libsodium
LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null)
CPPFLAGS := -D_GNU_SOURCE -DQUEUED_VERSION='"$(VERSION)"' -Iqueued -Iinclude -Iclient/lib -I$(B)/proto
ALL_CFLAGS = -std=c11 $(OPT) -fPIC -fno-common $(WARN) $(if $(CI),-Werror) $(SANFLAGS) \
	$(shell pkg-config --cflags $(PKGS) 2>/dev/null) $(CFLAGS)
LINK = $(CC) $(SANFLAGS) $(LDFLAGS) -o $@
Q := $(if $(filter 1,$(V)),,@)

lib_srcs = $(wildcard queued/$(1)/*.c)
UTIL_OBJS := $(patsubst %.c,$(B)/%.o,$(call lib_srcs,util))
CORE_OBJS := $(patsubst %.c,$(B)/%.o,$(call lib_srcs,core))
PROTO_OBJS := $(B)/proto/queue.pb-c.o $(B)/proto/record.pb-c.o
SHELL_OBJS := $(patsubst %.c,$(B)/%.o,$(filter-out queued/main.c,$(wildcard queued/*.c)))
CLIENT_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard client/lib/*.c))
FAKE_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard tests/fake/*.c))
lib_objs = $(patsubst %.c,$(B)/%.o,$(call lib_srcs,$(1)))

ARCHIVES := $(B)/libshell.a $(B)/librpc.a $(B)/libkube.a $(B)/libstore.a $(B)/libcore.a \
	$(B)/libproto.a $(B)/libutil.a
UNIT_BINS := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/test_*.c))
PROP_BINS := $(patsubst %.c,$(B)/%,$(wildcard tests/prop/prop_*.c))
BENCH_BINS := $(patsubst %.c,$(B)/%,$(wildcard tests/bench/bench_*.c))

.PHONY: all
all: $(B)/queued $(B)/queuectl $(B)/libqueued.a $(B)/libqueued.so.0 ## daemon, command line and client library

$(B)/%.o: %.c $(B)/proto.stamp
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC $<")
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# Generated code is not ours to keep free of warnings.
$(B)/proto/%.pb-c.o: $(B)/proto.stamp
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -w -c $(B)/proto/$*.pb-c.c -o $@

$(B)/proto.stamp: $(wildcard proto/*.proto)
	@mkdir -p $(B)/proto
	$(Q)$(PROTOC_C) --proto_path=proto --c_out=$(B)/proto $(notdir $^)
	@touch $@

$(B)/libutil.a: $(UTIL_OBJS)
$(B)/libcore.a: $(CORE_OBJS)
$(B)/libproto.a: $(PROTO_OBJS)
$(B)/libstore.a: $(call lib_objs,store)
$(B)/libkube.a: $(call lib_objs,kube)
$(B)/librpc.a: $(call lib_objs,rpc)
$(B)/libshell.a: $(SHELL_OBJS)
$(B)/libclient.a: $(CLIENT_OBJS)
$(B)/libfake.a: $(FAKE_OBJS)
$(B)/lib%.a:
	@rm -f $@
	$(Q)ar rcs $@ $^

$(B)/queued: $(B)/queued/main.o $(ARCHIVES)
	$(Q)$(LINK) $^ $(LIBS)

$(B)/queuectl: $(patsubst %.c,$(B)/%.o,$(wildcard client/cli/*.c)) $(B)/libclient.a $(B)/libproto.a $(B)/libutil.a
	$(Q)$(LINK) $^ $(LIBS)

# The installed library: client code with what it needs of util and the wire; only queued_* is visible.
LIBQUEUED_OBJS := $(CLIENT_OBJS) $(UTIL_OBJS) $(B)/proto/queue.pb-c.o
$(B)/libqueued.a: $(LIBQUEUED_OBJS)
$(B)/libqueued.so.0: $(LIBQUEUED_OBJS) client/lib/libqueued.map
	$(Q)$(LINK) -shared -Wl,-soname,libqueued.so.0 -Wl,--version-script=client/lib/libqueued.map \
		$(LIBQUEUED_OBJS) $(shell pkg-config --libs libzmq libprotobuf-c yaml-0.1 libsodium)

# ---- tests

$(B)/tests/unit/% $(B)/tests/prop/% $(B)/tests/bench/%: $(B)/tests/unit_marker
$(B)/tests/unit_marker:
	@mkdir -p $(B)/tests/unit $(B)/tests/prop $(B)/tests/bench && touch $@

TEST_ARCHIVES := $(B)/libfake.a $(B)/libclient.a $(ARCHIVES)
TEST_LINK = $(Q)$(LINK) $< $(TEST_ARCHIVES) $(LIBS) -lcmocka
$(UNIT_BINS) $(PROP_BINS) $(BENCH_BINS): $(B)/%: $(B)/%.o $(TEST_ARCHIVES)
	$(TEST_LINK)

$(B)/tests/sim: $(patsubst %.c,$(B)/%.o,$(wildcard tests/sim/*.c)) $(TEST_ARCHIVES)
	$(Q)$(LINK) $^ $(LIBS)

STANDIN_SRCS := $(wildcard tests/fake/standin/*.c)
$(B)/tests/standin: $(patsubst %.c,$(B)/%.o,$(STANDIN_SRCS))
	$(Q)$(LINK) $^ $(shell pkg-config --libs libmicrohttpd libcjson)

.PHONY: check-unit
check-unit: $(UNIT_BINS) $(PROP_BINS)
	@tests/run.sh $^

-include $(shell find $(B) -name '*.d' 2>/dev/null)
