# SPDX-License-Identifier: GPL-2.0-only
#
# make                 build everything into build/
# make demo            namespaces, a veth pair, curl, the stage table (root)
# make run IFACE=eth0  build and attach to a real interface (root); ARGS="..." for more
# make check           every test; counts passed, failed, skipped (root)
#   check-pure         the part that needs no root: layers, purity, units, scripts, corpora
#   check-san          check-pure again under ASan and UBSan
#   check-bpf          the XDP and the tc program against fixtures (root)
#   check-net          real XDP on veth, real clients (root); NET_TESTS="..." for some
#   check-net-san      check-net's core again with the sanitized responder (root)
#   check-packaging    both architectures' packages and image, installed and run (root;
#                      minutes, downloads Debian roots; not part of check)
#   check-arm64        everything built for arm64; what is logic alone runs under qemu-user
#   check-board        an emulated board with 16 KiB pages runs the network tests (not part
#                      of check but for its first part); BOARD_PARTS="..." for some
# make bench           ratios against nginx on the same veth and cores (root)
#   B=crew             what it takes to have a compute core do a job, and to wake one
#   B=json             ns and heap bytes of reading JSON bodies
#   B=lane             lane bodies, the engine and its slices; B_ARGS=--json: a line a row
#   B=compute          that, and over HTTP: against the plain loop, against threads,
#                      the published load, overload, a mix (root); B_ARGS=overload for one
#   B=stats            what recording costs, and a reader 10 times a second
#   B=crowd            a request on one connection and on 10,000, in time and cache misses
#   B=load             saker-load's figures beside those of wrk2, httperf and h2load (root)
#   B=steer            what the XDP program and the tc program take for a frame (root)
#   B=hostile          p99 under a SYN flood, a request among 10,000 connections (root)
#   B=loss             beside nginx behind a network that loses and reorders (root)
# make lab E=seed      run an experiment of experiments/ on a veth, make its report (root);
#                      LAB_ARGS="--quick --out=DIR": more for saker-lab
# make mca             the lane bodies in a model of the Pi 5's core (docs/mca-cortex-a76.txt)
# make fuzz T=http     run one fuzzer (http, image, pkt, tcp, worker) for TIME=60 seconds
# make coverage        lines of the pure middle that check-pure runs, and those that it does not
# make soak            trouble after trouble at random; FOR=600 seconds, SEED=N again (root)
# make check-roots     the README's two commands in clean Debian roots (root); RELEASE=trixie for one
# make nightly         check, each fuzzer for a minute, and what is too slow for check (root)
# make transcripts     docs/transcripts: what bpftool and saker-stat print (root)
# make deb             Debian packages into build/deb-amd64; ARCH=arm64 for the Pi's
# make image           an OCI image, build/image/saker.tar, for amd64 and arm64
# make sizes           docs/sizes.md: programs, packages and image, as they are now
# make install         PREFIX=/usr/local DESTDIR=
# make format          clang-format over the tree
# make clean           remove build/
#
# V=1  show commands    SAN=address,undefined  sanitized build in its own folder
# ARCH=arm64  cross build of everything, against packages in build/sysroot-arm64
# STATIC=1  saker, saker-stat and saker-ctl without shared libraries, in their own folder
# CPU=cortex-a76  CROSS_COMPILE=aarch64-linux-gnu-

# By Debian's names. From the command line alone: others export ARCH for other purposes.
arch := $(if $(filter command,$(firstword $(origin ARCH))),$(ARCH),$(if $(STATIC),$(shell dpkg --print-architecture)))
ifdef arch
triplet-arm64 := aarch64-linux-gnu
triplet-amd64 := x86_64-linux-gnu
triplet := $(or $(triplet-$(arch)),$(error ARCH=$(arch): only arm64 and amd64 are known))
CROSS_COMPILE := $(if $(filter-out $(shell gcc -dumpmachine),$(triplet)),$(triplet)-)
endif
ifneq ($(and $(arch),$(CROSS_COMPILE)$(STATIC)),)
SYSROOT := build/sysroot-$(arch)
# Made before the rest of this file is read, which asks it for its libraries.
.DEFAULT_GOAL := all
$(SYSROOT)/sysroot.mk: tools/sysroot tools/foreign.sh
	@tools/sysroot $(arch) $(SYSROOT)
include $(SYSROOT)/sysroot.mk
endif

# bpftool, ip and ethtool are there, where not every user looks.
export PATH := $(PATH):/usr/sbin:/sbin

CC        := $(CROSS_COMPILE)gcc $(SYSROOT:%=--sysroot=%)
HOSTCC    ?= cc
CLANG     ?= clang
BPFTOOL   ?= bpftool
STRIP_BTF ?= llvm-strip -g
PKGCONF   ?= pkg-config
HOST_PKGCONF := $(PKGCONF)
ifdef SYSROOT
PKGCONF   := PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(triplet)/pkgconfig $(PKGCONF)
endif
PREFIX    ?= /usr/local
DESTDIR   ?=
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
MULTIARCH := $(shell $(CC) -print-multiarch)
MARCH     := $(if $(CPU),$(if $(filter aarch64%,$(shell $(CC) -dumpmachine)),-mcpu=,-march=)$(CPU))

folder := build/$(or $(CROSS_COMPILE:%-=%),host)$(if $(SAN),-san)$(if $(COV),-cov)$(if $(HIST_OFF),-hist-off)$(if $(STATIC),-static)
# `make bench B=json` names a bench, not the folder.
BENCH ?= net
ifneq ($(and $(filter bench,$(MAKECMDGOALS)),$(filter net compute crew crowd hostile json lane load loss path stats steer,$B)),)
BENCH := $B
override B := $(folder)
endif
B := $(folder)

CPPFLAGS += -D_GNU_SOURCE -DVERSION='"$(VERSION)"' $(if $(SAN),-DBASE_DEBUG) $(if $(HIST_OFF),-DHIST_OFF) \
            -iquote include -iquote userspace -iquote tools -iquote tests -iquote $B
CFLAGS   ?= -O2 -g
WARNINGS := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
# What a mistake meets that the tests did not; docs/packaging.md has what it costs. HARDEN= : none.
# Sanitizers have checks of their own; fortified functions need an optimizing compiler.
hardening := -fstack-protector-strong -fstack-clash-protection -Wformat -Werror=format-security \
             $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),-fcf-protection) \
             $(if $(filter aarch64%,$(shell $(CC) -dumpmachine)),-mbranch-protection=standard) \
             $(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDEN   ?= $(hardening)
override CFLAGS += -std=gnu11 $(MARCH) -MMD -MP $(WARNINGS) -fno-strict-aliasing -pthread $(if $(SAN)$(COV),,$(HARDEN)) \
            $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer) $(if $(COV),--coverage)
LDFLAGS  += -pthread -Wl,-z,relro,-z,now $(if $(STATIC),-static-pie) $(if $(SAN),-fsanitize=$(SAN)) $(if $(COV),--coverage)
# Of a static build: libelf may want zstd, and its package does not always say so.
BPF_LIBS := $(shell $(PKGCONF) $(if $(STATIC),--static) --libs libbpf 2>/dev/null) $(if $(STATIC),-lzstd)
BPFFLAGS := -target bpf -mcpu=v3 -ffreestanding -O2 -g -Wall -Wextra -Werror -iquote include -iquote bpf \
            $(SYSROOT:%=--sysroot=%) -idirafter $(SYSROOT)/usr/include/$(MULTIARCH)

# The pure middle: no system call, no clock, no allocation, no Linux header.
PURE := buf spsc siphash cache wheel image watch \
        pkt tcp_table tcp_cookie tcp_in tcp_out tcp_loss tcp_mtu tcp_reasm tcp_adopt tcp_image \
        http http_body http_write route \
        lane lane_scalar lane_sse41 lane_avx2 lane_avx512 lane_neon hop roster \
        session jobs answer note worker worker_image frames describe conns \
        metrics accesslog trace budget
# The half that touches the machine, and the spine that holds it together.
EDGE := ring ring_setup packet packet_setup gate ringbuf icmp listener sock blocks pins steer steer_load steer_hook flows \
        ktcp settings rungs nic cpu conf conf_values memory say talk netev \
        attached attached_tc guard prefix sources stats table calibrate crew logger tracer \
        iothread iothread_house threads jail server child books notify \
        starter starter_cpus starter_kin starter_link starter_upgrade main

TOOLS := saker-stat saker-ctl saker-load saker-probe saker-doctor
# What the lab's experiments ask with: one program a question.
MEASURES := measure-first measure-media measure-pages
# For an image with nothing else in it: what serves, and what asks it.
ifdef STATIC
TOOLS := saker-stat saker-ctl
MEASURES :=
endif
stat-parts := saker-stat stat_instance stat_snapshot stat_text stat_table stat_json stat_prometheus stat_hgrm stat_live \
              stat_lanes stat_conns stat_gauges stat_trace capture pcapng
ctl-parts := saker-ctl ctl_access ctl_limits ctl_sources ctl_detach stat_instance stat_text
load-parts := saker-load load_url load_check load_schedule load_answer load_conn load_run load_hist load_record load_heat \
              load_find load_search load_verdict load_text load_json load_files stat_text
probe-parts := saker-probe probe_source probe_rows probe_sysfs probe_gencmd probe_vcio probe_parse probe_proc probe_task \
               probe_pmu probe_perf probe_csv probe_power probe_energy probe_costs
doctor-parts := saker-doctor doctor_host doctor_run doctor_config doctor_cpus doctor_parse doctor_finding doctor_table \
                doctor_text doctor_json doctor_kernel doctor_native doctor_faults doctor_card doctor_nic doctor_irq \
                doctor_isolation doctor_cpu doctor_heat doctor_memory doctor_programs doctor_leftovers stat_text probe_gencmd
# --fix and --undo
doctor-parts += doctor_fix doctor_undo doctor_deed doctor_boot doctor_state doctor_apply doctor_file doctor_value \
                doctor_ethset doctor_ethtext doctor_partition doctor_tasks
CURSES := $(shell $(PKGCONF) $(if $(STATIC),--static) --libs ncursesw 2>/dev/null || echo -lncursesw -ltinfo)

pure-o := $(PURE:%=$B/%.o)
edge-o := $(EDGE:%=$B/%.o)
unit   := $(patsubst tests/unit/%.c,$B/%,$(wildcard tests/unit/test_*.c))
edge   := $(patsubst tests/edge/%.c,$B/%,$(wildcard tests/edge/test_*.c))
wire   := $B/wire
fuzz   := $(patsubst tests/fuzz/%.c,$B/%,$(wildcard tests/fuzz/fuzz_*.c))

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-5s %s\n' $(1) $(2)
endif

all: $B/saker $(TOOLS:%=$B/%) $(MEASURES:%=$B/%) links

# build/saker, build/saker-stat ...: whatever flavour was built last that runs here
links: $B/saker $(TOOLS:%=$B/%) $(MEASURES:%=$B/%)
	$Q$(if $(filter build/%,$(if $(SYSROOT)$(STATIC),,$B)),for x in saker $(TOOLS) $(MEASURES); do ln -sfn $(B:build/%=%)/$$x build/$$x; done,:)

$B/saker: $(pure-o) $(edge-o)
	$(call say,LD,$@)
	$Q$(CC) $(LDFLAGS) -o $@ $^ $(BPF_LIBS)

$B/saker-stat: $(stat-parts:%=$B/%.o) $B/stats.o $B/table.o $B/metrics.o $B/trace.o
	$(call say,LD,$@)
	$Q$(CC) $(LDFLAGS) -o $@ $^ $(BPF_LIBS) $(CURSES) -lm

$B/saker-ctl: $(ctl-parts:%=$B/%.o) $B/stats.o $B/prefix.o $B/attached.o $B/attached_tc.o $B/settings.o
	$(call say,LD,$@)
	$Q$(CC) $(LDFLAGS) -o $@ $^ $(BPF_LIBS)

# The three of them in one, for an image, which has the C library once then.
$B/saker-many: packaging/image/many.c $(pure-o) $(edge-o) \
               $(sort $(stat-parts:%=$B/%.o) $(ctl-parts:%=$B/%.o)) Makefile
	$(call say,LD,$@)
	$Q$(foreach x,saker-stat saker-ctl,$(CROSS_COMPILE)objcopy --redefine-sym main=$(subst -,_,$x)_main \
		--redefine-sym argp_program_version=$(subst -,_,$x)_version --localize-symbol=base_panic $B/$x.o $B/$x.many.o &&) \
		$(CROSS_COMPILE)objcopy --redefine-sym main=saker_main $B/main.o $B/main.many.o
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(patsubst $B/main.o,$B/main.many.o, \
		$(patsubst $B/saker-%.o,$B/saker-%.many.o,$(filter %.o,$^))) $(BPF_LIBS) $(CURSES) -lm

$B/saker-load: $(load-parts:%=$B/%.o) $(pure-o)
	$(call say,LD,$@)
	$Q$(CC) $(LDFLAGS) -o $@ $^ -lm

$B/saker-probe: $(probe-parts:%=$B/%.o) $B/ring.o $B/ring_setup.o $B/spsc.o
	$(call say,LD,$@)
	$Q$(CC) $(LDFLAGS) -o $@ $^ -lm

$B/saker-doctor: $(doctor-parts:%=$B/%.o) $B/attached.o $B/stats.o
	$(call say,LD,$@)
	$Q$(CC) $(LDFLAGS) -o $@ $^ $(BPF_LIBS) -lz

$(pure-o) $(edge-o): $B/%.o: userspace/%.c Makefile | $B
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# What an image of a worker has in it (worker_image.c), as one number: the text of these
# structs and enums, without comments and blanks. Another build may load it if it is equal.
image-h := $(patsubst %,userspace/%.h,http route pkt accesslog buf tcp_private worker_private)
LAYOUT := $(shell cat $(image-h) | sed -z 's|/\*[^*]*\**\([^/*][^*]*\**\)*/||g' | tr -d ' \t' | \
            awk '/^(struct|enum)[a-z_]*[{]/ { take = !/^struct(worker|tcp)[{]/ } take; \
                 /^}/ || /^enum.*}/ { take = 0 }' | cksum | cut -d' ' -f1)
$B/worker_image.o: override CPPFLAGS += -DIMAGE_LAYOUT=$(LAYOUT)u
$B/worker_image.o: $(image-h)

# Lane bodies: each file for its own instruction set, chosen at run time; loops that start
# a cache line (lane_vector.h, paced); and chains that no compiler gathers into vectors.
$B/lane_scalar.o: override CFLAGS += -fno-tree-slp-vectorize
ifeq ($(firstword $(subst -, ,$(shell $(CC) -dumpmachine))),x86_64)
$B/lane_sse41.o: override CFLAGS += -msse4.1 -falign-loops=64
$B/lane_avx2.o: override CFLAGS += -mavx2 -falign-loops=64
$B/lane_avx512.o: override CFLAGS += -mavx512f -mavx512dq -falign-loops=64
endif

$B/%.o: tools/%.c Makefile | $B
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$B/steer_load.o: $B/steer.skel.h $B/steer_tc.skel.h

# The worker's system calls, worked out here for the machine that it will run on.
$B/jail.o: $B/jail_filter.h

$B/jail_filter: tools/jail_filter.c userspace/base.h Makefile | $B
	$(call say,CC,$<)
	$Q$(HOSTCC) -std=gnu11 -D_GNU_SOURCE -O2 $(WARNINGS) -iquote userspace -o $@ $< \
		$(shell $(HOST_PKGCONF) --cflags --libs libseccomp)

$B/jail_filter.h: $B/jail_filter
	$(call say,GEN,$@)
	$Q$< $(firstword $(subst -, ,$(shell $(CC) -dumpmachine))) > $@

$B/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h include/*.h) Makefile | $B
	$(call say,BPF,$<)
	$Q$(CLANG) $(BPFFLAGS) -c -o $@ $< && $(STRIP_BTF) $@

$B/%.bpf.o: tests/net/%.bpf.c $(wildcard include/*.h) Makefile | $B
	$(call say,BPF,$<)
	$Q$(CLANG) $(BPFFLAGS) -c -o $@ $< && $(STRIP_BTF) $@

$B/%.skel.h: $B/%.bpf.o
	$(call say,SKEL,$@)
	$Q$(BPFTOOL) gen skeleton $< name $*_bpf > $@

$(unit): $B/%: tests/unit/%.c $(pure-o) Makefile
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(pure-o)

# What of the edge needs a machine that refuses, or threads; named for the module, which
# it links with the pure middle, and with what of the edge that module stands on.
$(edge): $B/test_%: tests/edge/test_%.c $B/%.o $(pure-o) Makefile
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(filter %.o,$^) $(edge-libs)

$B/test_crew $B/test_logger: $B/cpu.o
$B/test_netev: $B/nic.o
$B/test_load_hist $B/test_load_heat $B/test_load_schedule: edge-libs := -lm
$B/test_load_heat: $B/load_hist.o
$B/test_load_verdict: $B/load_record.o $B/load_heat.o $B/load_hist.o $B/stat_text.o
$B/test_ring_setup: $B/ring.o
$B/test_packet: $B/packet_setup.o $B/ringbuf.o
$B/test_packet: edge-libs := $(BPF_LIBS)
$B/test_ring_setup: edge-libs := $(BPF_LIBS)
$B/test_probe_power $B/test_probe_energy: $B/probe_csv.o
$B/test_probe_pmu $B/test_probe_rows: $B/probe_source.o
$B/test_probe_perf: $B/probe_source.o $B/probe_pmu.o
$B/test_doctor_value $B/test_doctor_state: $B/doctor_cpus.o
$B/test_doctor_apply: $B/doctor_file.o $B/doctor_value.o $B/doctor_cpus.o $B/doctor_ethset.o $B/doctor_ethtext.o \
                      $B/doctor_partition.o $B/doctor_tasks.o
$B/test_doctor_fix: $(patsubst %,$B/doctor_%.o,undo deed boot state apply file value ethset ethtext partition tasks cpus) \
                    $B/stat_text.o
$B/test_doctor_fix: edge-libs := -Wl,--wrap=write,--wrap=fsync,--wrap=renameat,--wrap=unlinkat,--wrap=unlink \
                                 -Wl,--wrap=mkdir,--wrap=rmdir,--wrap=rename
$B/test_doctor_boot: $B/doctor_file.o $B/doctor_value.o $B/doctor_cpus.o

$(wire): tests/wire/wire.c $(wildcard tests/wire/*.[ch]) $(pure-o) Makefile
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) -iquote tests/wire $(CFLAGS) $(LDFLAGS) -o $@ $(filter tests/wire/%.c,$^) $(pure-o)

# A fuzz target always builds: with replay.c it runs its corpus once, with
# libFuzzer (make fuzz) it searches.
$(fuzz): $B/%: tests/fuzz/%.c tests/fuzz/replay.c $(pure-o) Makefile
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< tests/fuzz/replay.c $(pure-o)

# What diff_node.js asks.
$B/http_oracle: tests/fuzz/http_oracle.c $(pure-o) Makefile
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(pure-o)

$B/bench_%: tests/bench/bench_%.c $(pure-o) Makefile
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(filter %.o,$^)

$B/bench_crew: $B/crew.o $B/cpu.o

$B/bench_steer: tests/bench/bench_steer.c $B/steer.skel.h $B/steer_tc.skel.h $(wildcard tests/bpf/*.h) Makefile
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) -iquote tests/bpf $(CFLAGS) $(LDFLAGS) -o $@ $< $(BPF_LIBS)

# The same tests of the XDP program and, with HOOK_TC, of the tc program.
bpf-tests := $B/test_steer $B/test_path $B/test_steer_tc $B/test_path_tc $B/test_tc
bpf-o := $B/icmp.o $B/ringbuf.o $B/guard.o $B/prefix.o
bpf-cc = $(CC) $(CPPFLAGS) -iquote tests/bpf $(CFLAGS) $(LDFLAGS) -o $@ $< $(bpf-o) $(BPF_LIBS)
$(bpf-tests): $(bpf-o) $(wildcard tests/bpf/*.h) Makefile | $B
$B/test_steer $B/test_path: $B/%: tests/bpf/%.c $B/steer.skel.h
	$(call say,CC,$<)
	$Q$(bpf-cc)
$B/test_steer_tc $B/test_path_tc: $B/%_tc: tests/bpf/%.c $B/steer_tc.skel.h
	$(call say,CC,$<)
	$Q$(bpf-cc) -DHOOK_TC
$B/test_tc: tests/bpf/test_tc.c $B/steer_tc.skel.h
	$(call say,CC,$<)
	$Q$(bpf-cc) -DHOOK_TC

$B/measure-first: tools/measure/first_server.c tools/measure/first_ask.c tools/measure/first.h
$(MEASURES:%=$B/%): $B/measure-%: tools/measure/%.c tools/measure/measure.c tools/measure/measure.h Makefile | $B
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) -iquote tools/measure $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^)

# The peer of compute.sh.
$B/threads: tests/bench/threads.c $(pure-o) Makefile
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(pure-o)

# The bad network of the tests, and the client that storms through it.
$B/impair: tests/net/impair.c Makefile | $B
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $<

$B/flood_tcp: tests/net/flood_tcp.c Makefile | $B
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $<

# What the tests ask of an interface. From its sources: the objects may be sanitized.
$B/attached: tests/net/attached.c userspace/attached_tc.c Makefile | $B
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) $(BPF_LIBS)

# saker-doctor --fix without its checks.
$B/doctor_set: tests/net/doctor_set.c $(patsubst %,$B/doctor_%.o,fix undo deed boot state apply file value ethset ethtext partition tasks cpus) \
               $B/stat_text.o Makefile
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -Wl,--wrap=apply_write -o $@ $< $(filter %.o,$^)

# On a kernel that lacks something.
$B/lacking: tests/net/lacking.c Makefile | $B
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $<

$B/storm $B/mixed: $B/%: tests/net/clients/%.c Makefile | $B
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $<

$B:
	$Qmkdir -p $@

# --- tests ------------------------------------------------------------------

SANITIZE := address,undefined

check:
	$Qtests/check.sh $B

check-pure: layers pure $(unit) $(edge) $(wire) $(fuzz) $B/http_oracle $B/saker-probe $B/saker-load $B/saker-doctor $(MEASURES:%=$B/%)
	$Qtests/pure.sh $B

check-san:
	$Q$(MAKE) --no-print-directory SAN=$(SANITIZE) check-pure

check-bpf: $(bpf-tests)
	$Qprove --exec '' $^

check-net: all $(wire)
	$Qtests/net/run.sh $B $(NET_TESTS)

check-net-san:
	$Q$(MAKE) --no-print-directory SAN=$(SANITIZE) check-net NET_TESTS="$(or $(NET_TESTS),core)"

check-arm64:
	$Qtests/arm64.sh

check-packaging:
	$Qtests/packaging.sh $B all

check-board:
	$Qtests/board.sh build/aarch64-linux-gnu $(BOARD_PARTS)

# What an emulated board runs, which has no compiler.
board-tests: $B/wire $B/impair $B/mixed $B/flood_tcp $B/storm $B/pass.bpf.o $B/drop.bpf.o \
             $B/attached $(bpf-tests) $(edge) $B/test_pages

$B/test_pages: tests/board/test_pages.c Makefile | $B
	$(call say,CC,$<)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(BPF_LIBS)

layers:
	$Qtests/layers.sh tests/layers.txt userspace/*.[ch]

# The core must compile with no library header at all but jsmn's, for the
# other architecture too, and call nothing but itself, mem* (clang: bcmp; _chk: with its bounds
# checked), the stack protector, and what an atomic exchange is for an arm64 compiler that does
# not know the CPU.
pure: $(pure-o) | $B
	$Qmkdir -p $B/pure && ln -sfn /usr/include/jsmn.h $B/pure/jsmn.h
	$Qfor f in $(PURE:%=userspace/%.c); do \
		$(CLANG) --target=aarch64-linux-gnu -nostdlibinc -ffreestanding -fsyntax-only \
		-iquote include -iquote userspace -isystem $B/pure -std=gnu11 -Wall -Werror $$f || exit 1; done
	$Q$(if $(SAN)$(COV),:,nm $(pure-o) | awk '$$1 == "U" { u[$$2] } $$2 ~ /^[TtDdBbRr]$$/ { d[$$3] } \
		END { for (s in u) if (!(s in d) && s !~ /^(mem(cpy|move|set|cmp)|bcmp|__mem(cpy|move|set)_chk|__stack_chk_(fail|guard)|base_panic|__aarch64_swp4_acq_rel)$$/) { print "core calls " s; bad = 1 } exit bad }')

TIME ?= 60
fuzz: | $B
	$Q$(MAKE) --no-print-directory build/fuzz/fuzz_$(T)
	$Qmkdir -p build/fuzz/corpus-$(T)
	$Qbuild/fuzz/fuzz_$(T) -max_total_time=$(TIME) -print_final_stats=1 -rss_limit_mb=1024 \
		build/fuzz/corpus-$(T) tests/fuzz/corpus/$(T)

build/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(PURE:%=userspace/%.c) $(wildcard userspace/*.h include/*.h)
	$Qmkdir -p build/fuzz
	$(call say,FUZZ,$@)
	$Q$(CLANG) $(CPPFLAGS) -DBASE_DEBUG -std=gnu11 -g -O1 -fno-strict-aliasing \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -o $@ $< $(PURE:%=userspace/%.c)

coverage:
	$Q$(MAKE) --no-print-directory COV=1 CFLAGS='-O0 -g' check-pure
	$Qtests/coverage.sh $(folder)-cov $(PURE)

nightly: check coverage
	$Qfor t in $(fuzz:$B/fuzz_%=%); do $(MAKE) --no-print-directory fuzz T=$$t || exit 1; done
	$QFULL=1 tests/net/run.sh $B
	$QFOR=600 tests/net/run.sh $B soak
	$Qtests/roots.sh
	$Q$(MAKE) --no-print-directory check-packaging

check-roots:
	$Qtests/roots.sh

soak: all
	$QFOR=$(or $(FOR),600) SEED=$(SEED) tests/net/run.sh $B soak

# --- for people --------------------------------------------------------------

demo: all
	$Qtools/demo --built $B

run: all
	$Q$B/saker -i $(or $(IFACE),$(error make run IFACE=eth0: which interface?)) $(ARGS)

bench: $(if $(filter $(BENCH),net compute hostile load loss path stats),all) $(if $(filter $(BENCH),net hostile load loss path stats),,$B/bench_$(BENCH:compute=lane))
	$Q$(if $(filter $(BENCH),crew json lane steer),$B/bench_$(BENCH) $(B_ARGS))
	$Q$(if $(filter $(BENCH),compute),$(if $(B_ARGS),,$B/bench_lane))
	$Q$(if $(filter $(BENCH),stats),$(MAKE) --no-print-directory HIST_OFF=1 B=$B-hist-off $B-hist-off/saker)
	$Q$(if $(filter $(BENCH),net compute crowd hostile load loss path stats),tests/bench/$(patsubst load,crosscheck,$(BENCH:net=bench)).sh $B $(B_ARGS))

lab: all
	$Qtools/saker-lab run $(or $E,$(error make lab E=seed: which experiment? tools/saker-lab list)) --build=$B $(LAB_ARGS)

# The lane bodies as they are shipped to the Pi, in a model of its core.
MCA_B := build/aarch64-linux-gnu
mca:
	$Q$(MAKE) --no-print-directory ARCH=arm64 SAN= B=$(MCA_B) \
		$(MCA_B)/lane_scalar.o $(MCA_B)/lane_neon.o
	$Qtools/mca $(MCA_B)/lane_scalar.o $(MCA_B)/lane_neon.o > $(MCA_B)/mca.txt; s=$$?; \
		head -n 30 $(MCA_B)/mca.txt; [ $$s = 0 ] && cp $(MCA_B)/mca.txt docs/mca-cortex-a76.txt

transcripts: all
	$Qtests/net/transcripts.sh $B docs/transcripts

deb:
	$Qpackaging/make-deb $(or $(arch),$(shell dpkg --print-architecture)) build/deb-$(or $(arch),$(shell dpkg --print-architecture))

# By makes of their own: each has its sysroot and its folder.
many-amd64 := build/$(if $(filter x86_64%,$(shell gcc -dumpmachine)),host,x86_64-linux-gnu)-static/saker-many
many-arm64 := build/$(if $(filter aarch64%,$(shell gcc -dumpmachine)),host,aarch64-linux-gnu)-static/saker-many
image:
	$Q$(foreach a,amd64 arm64,$(MAKE) --no-print-directory ARCH=$a STATIC=1 $(many-$a) &&) mkdir -p build/image
	$Qpackaging/make-image --version=$(VERSION) --time=$(shell git log -1 --format=%ct) --out=build/image/saker.tar \
		amd64=$(many-amd64) arm64=$(many-arm64) && ls -l build/image/saker.tar

sizes:
	$Qpackaging/make-sizes > docs/sizes.md.new && mv docs/sizes.md.new docs/sizes.md

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man8 $(DESTDIR)$(PREFIX)/lib/systemd/system \
		$(DESTDIR)$(PREFIX)/lib/sysusers.d $(DESTDIR)$(PREFIX)/share/man/man1 \
		$(DESTDIR)$(PREFIX)/lib/saker/lab $(DESTDIR)$(PREFIX)/share/saker/experiments
	install -m 755 $B/saker $(TOOLS:%=$B/%) $(MEASURES:%=$B/%) $(DESTDIR)$(PREFIX)/bin
	install -m 644 docs/*.8 $(DESTDIR)$(PREFIX)/share/man/man8
	install -m 644 docs/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 tools/saker-lab $(DESTDIR)$(PREFIX)/bin
	install -m 644 tools/lab/*.py $(DESTDIR)$(PREFIX)/lib/saker/lab
	$(if $(wildcard experiments/*.lab),install -m 644 experiments/*.lab $(DESTDIR)$(PREFIX)/share/saker/experiments)
	install -d $(DESTDIR)$(PREFIX)/share/saker/examples/peers
	install -m 755 examples/peers/*.js examples/peers/*.sh $(DESTDIR)$(PREFIX)/share/saker/examples/peers
	install -m 644 examples/peers/*.conf $(DESTDIR)$(PREFIX)/share/saker/examples/peers
	install -d $(DESTDIR)$(PREFIX)/share/saker/grafana
	install -m 644 packaging/grafana/saker.json $(DESTDIR)$(PREFIX)/share/saker/grafana
	sed 's|@PREFIX@|$(PREFIX)|' packaging/saker@.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/saker@.service
	install -m 644 packaging/sysusers.conf $(DESTDIR)$(PREFIX)/lib/sysusers.d/saker.conf

format:
	$Qclang-format -i $(shell git ls-files '*.c' '*.h')

help:
	$Qsed -n 's/^# \{0,1\}//; 3,/^$$/p' Makefile

clean:
	$Qrm -rf build

.PHONY: all links check check-pure check-san check-bpf check-net check-net-san check-arm64 board-tests check-board layers pure fuzz coverage check-roots nightly soak demo run bench lab mca transcripts deb check-packaging image sizes install format help clean
.DELETE_ON_ERROR:
.SECONDARY:
-include $(wildcard $B/*.d)
