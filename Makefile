# attnres: `make help` lists the targets. Non-recursive; every .c of a folder is built.

CC ?= cc
ifeq ($(origin CC),default)
CC := cc
endif
MPICC ?= mpicc
SMPICC ?= smpicc
B ?= build
prefix ?= /usr/local
CFLAGS ?= -O3 -g
WARN := -Wall -Wextra -Wpedantic -Wconversion
SAN ?=

VERSION := 0.1.0
COMMIT := $(shell git describe --always --abbrev=12 --dirty=+ --exclude "*" 2>/dev/null || echo unknown)

has = $(shell echo '\#include <$(1)>' | $(CC) -E - >/dev/null 2>&1 && echo yes)
HAVE_SIMGRID := $(if $(call has,simgrid/engine.h),$(shell command -v $(SMPICC)))
HAVE_PAPI := $(call has,papi.h)
HAVE_SDE := $(call has,sde_lib.h)
HAVE_MPI := $(shell command -v $(MPICC))
HAVE_VALGRIND := $(call has,valgrind/callgrind.h)

# OpenMP, where the compiler can link it; without it kernels run one thread.
OPENMP := $(shell echo 'int main(void){}' | $(CC) -fopenmp -x c - -o /dev/null 2>/dev/null && echo -fopenmp)
# clang's OpenMP library, for smpicc, which links with gcc.
OMP_CLANG := $(wildcard $(shell $(CC) -print-resource-dir 2>/dev/null)/../../libomp.so)
X86 := $(shell $(CC) -dM -E -x c /dev/null | grep -q __x86_64__ && echo yes)
ISAS := base $(if $(X86),v3 v4 v4b)
march_v3 := -march=x86-64-v3
march_v4 := -march=x86-64-v4 -mprefer-vector-width=512
march_v4b := $(march_v4) -mavx512bf16

override CPPFLAGS += -D_POSIX_C_SOURCE=200809L -I$(B) \
  $(if $(HAVE_SIMGRID),-DHAVE_SIMGRID) $(if $(HAVE_PAPI),-DHAVE_PAPI) $(if $(HAVE_VALGRIND),-DHAVE_VALGRIND) \
  $(if $(HAVE_SDE),-DHAVE_SDE) $(if $(X86),-DAR_HAVE_X86)
FLAGS = -std=c17 -ffp-contract=off $(CFLAGS) $(WARN) $(SAN) -fPIC $(OPENMP) -MMD -MP

# What each folder may see.
see_base := -Isim/base
see_kernels := -Ikernels
see_measure := -Ikernels/measure $(see_kernels) -Isim/base -Itopologies
see_topologies := -Itopologies $(see_base)
see_reports := -Ireports $(see_base) $(see_kernels)
see_sim := -Isim $(see_base) $(see_kernels) -Ikernels/measure -Itopologies -Ireports

# Sources that need MPI are built once for each engine; all others once.
mpi_src := $(addprefix sim/,transport.c stage.c step.c work_modelled.c work_real.c verify.c \
  measure.c machine.c rank_main.c)
engine_src := sim/engine_openmpi.c sim/engine_smpi.c
front_src := sim/attnres.c $(wildcard sim/cmd_*.c)
sim_src := $(filter-out $(mpi_src) $(engine_src) $(front_src),$(wildcard sim/*.c))
lib_src := $(wildcard sim/base/*.c kernels/*.c kernels/measure/*.c topologies/*.c reports/*.c) $(sim_src)
obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
# kernels/simd: once for each instruction set and storage type.
simd_kinds := $(filter-out v4b_fp32,$(foreach i,$(ISAS),$(i)_fp32 $(i)_bf16))
simd_obj := $(foreach k,$(simd_kinds),$(patsubst kernels/simd/%.c,$(B)/obj/kernels/simd/%.$(k).o,$(wildcard kernels/simd/*.c)))
LIB := $(B)/libattnres.a
LIBS := -lopenblas -lhwloc $(if $(HAVE_SDE),-lsde) -lm $(OPENMP)
FRONT_LIBS := $(LIBS) $(if $(HAVE_PAPI),-lpapi) $(if $(HAVE_SIMGRID),-lsimgrid)

platforms := $(patsubst topologies/presets/%.ini,$(B)/platforms/%.xml,$(wildcard topologies/presets/*.ini))
programs := $(B)/attnres $(if $(HAVE_MPI),$(B)/mpi/attnres-rank) $(if $(HAVE_SIMGRID),$(B)/smpi/attnres-rank)

all: $(programs) $(platforms) ## build attnres and its rank programs in build/
	@$(if $(HAVE_MPI),:,echo "without Open MPI: no 'attnres run' (Debian: apt install libopenmpi-dev openmpi-bin)")
	@$(if $(HAVE_SIMGRID),:,echo "without SimGrid: no 'attnres sim', no bounds over a platform (Debian: apt install simgrid libsimgrid-dev)")
	@$(if $(HAVE_PAPI),:,echo "without PAPI: 'attnres topo' cannot probe hardware counters (Debian: apt install libpapi-dev)")
	@$(if $(HAVE_SDE),:,echo "without libsde: PAPI's tools cannot read what kernels move (Debian: apt install libpapi-dev)")
	@$(if $(HAVE_VALGRIND),:,echo "without valgrind: no 'attnres bench --traffic cachesim' (Debian: apt install valgrind)")

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

$(B)/version.h: FORCE
	@mkdir -p $(@D)
	@printf '#define AR_%s "%s"\n' VERSION $(VERSION) COMMIT $(COMMIT) \
	  DATADIR $(prefix)/share/attnres SOURCEDIR $(CURDIR) > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
FORCE:
$(B)/obj/sim/result.o $(B)/obj/sim/attnres.o $(B)/obj/sim/base/data.o: $(B)/version.h

compile = @mkdir -p $(@D) && echo "  $(1) $<" && $(1) $(CPPFLAGS) $(2) $(FLAGS) -c $< -o $@
$(B)/obj/sim/base/%.o: sim/base/%.c ; $(call compile,$(CC),$(see_base))
$(B)/obj/kernels/measure/%.o: kernels/measure/%.c ; $(call compile,$(CC),$(see_measure))
$(B)/obj/kernels/%.o: kernels/%.c ; $(call compile,$(CC),$(see_kernels))
$(B)/obj/kernels/measure/peak.o: override CFLAGS += -ffp-contract=fast
define simd_rule
$(B)/obj/kernels/simd/%.$(1)_$(2).o: kernels/simd/%.c
	@mkdir -p $$(@D) && echo "  $(CC) $(1) $(2) $$<" && $(CC) $$(CPPFLAGS) $$(see_kernels) $$(FLAGS) $$(march_$(1)) \
	  -DAR_SUFFIX=$(1)_$(2) $(if $(filter bf16,$(2)),-DAR_STORE_BF16) -c $$< -o $$@
endef
$(foreach i,$(ISAS),$(foreach t,fp32 bf16,$(eval $(call simd_rule,$(i),$(t)))))
$(B)/obj/topologies/%.o: topologies/%.c ; $(call compile,$(CC),$(see_topologies))
$(B)/obj/reports/%.o: reports/%.c ; $(call compile,$(CC),$(see_reports))
$(B)/obj/sim/%.o: sim/%.c ; $(call compile,$(CC),$(see_sim))
$(B)/mpi/obj/%.o: sim/%.c ; $(call compile,OMPI_CC=$(CC) $(MPICC),$(see_sim))
$(B)/smpi/obj/%.o: sim/%.c ; $(call compile,$(SMPICC),$(see_sim))

$(LIB): $(call obj,$(lib_src)) $(simd_obj)
	@rm -f $@ && ar rcs $@ $^
$(B)/attnres: $(call obj,$(front_src)) $(LIB)
	$(CC) $(SAN) -o $@ $^ -Wl,--as-needed $(FRONT_LIBS)
$(B)/mpi/attnres-rank: $(patsubst sim/%.c,$(B)/mpi/obj/%.o,$(mpi_src) sim/engine_openmpi.c) $(LIB)
	OMPI_CC=$(CC) $(MPICC) $(SAN) -o $@ $^ $(LIBS)
$(B)/smpi/attnres-rank: $(patsubst sim/%.c,$(B)/smpi/obj/%.o,$(mpi_src) sim/engine_smpi.c) $(LIB)
	$(SMPICC) $(SAN) -o $@ $^ $(LIBS) $(OMP_CLANG)

$(B)/platforms/%.xml: topologies/presets/%.ini $(B)/attnres
	@mkdir -p $(@D)
	@$(B)/attnres topo generate $< > $@.new && mv $@.new $@

# ---- tests ----

# Targets that build on their own use all cores, unless make was told how many.
JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

unit := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/*.c))
$(B)/tests/%: tests/unit/%.c $(LIB)
	@mkdir -p $(@D) && echo "  $(CC) $<"
	@$(CC) $(CPPFLAGS) $(see_sim) -Itests $(FLAGS) -o $@ $< $(LIB) $(FRONT_LIBS)

unit: $(unit) ## build the unit tests

deps: ## install what is missing, or say how to get it
	@CC="$(CC)" .ci/deps.sh

demo: deps ## simulate the demo study and write reports/out/demo/report.md
	@$(MAKE) --no-print-directory $(JOBS) all
	@rm -rf reports/out/demo
	$(B)/attnres study demo -o reports/out/demo
	$(B)/attnres report reports/out/demo
	@sed -n '/^## In short/,/^## What a step/p' reports/out/demo/report.md | sed '1d;$$d'
	@echo "The whole report: reports/out/demo/report.md"

# The front door, the unit tests and the real ranks again under AddressSanitizer and UBSan.
asan_make = $(MAKE) --no-print-directory $(JOBS) B=$(B)/asan CFLAGS='-O1 -g1 -fno-omit-frame-pointer' \
  SAN='-fsanitize=address,undefined -fno-sanitize-recover=undefined'

asan: ## build with AddressSanitizer and UBSan in build/asan
	@$(asan_make) all unit

check: deps ## all tests, also under sanitizers; ends with "N passed, N failed"
	@$(MAKE) --no-print-directory $(JOBS) all unit
	@$(asan_make) all unit
	@tests/check.sh $(B)

bench: all ## how fast the simulator and the planner are
	@tests/bench.sh $(B)

c_files = $(shell git ls-files '*.c' '*.h')
lint: ## formatting, warnings as errors under gcc and clang, static analysis, scripts, aarch64
	@clang-format --dry-run -Werror $(c_files)
	@shellcheck .ci/run .ci/deps.sh $$(git ls-files '*.sh')
	@cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,portability,performance \
	  --inline-suppr --suppress=missingIncludeSystem --suppress=preprocessorErrorDirective \
	  -Isim -Isim/base -Ikernels -Ikernels/measure -Itopologies -Ireports -I$(B) sim kernels topologies reports
	@$(MAKE) --no-print-directory $(JOBS) B=$(B)/lint-gcc CC=gcc CFLAGS='-O1 -Werror' all unit
	@$(MAKE) --no-print-directory $(JOBS) B=$(B)/lint-clang CC=clang CFLAGS='-O1 -Werror' all unit
	@$(MAKE) --no-print-directory aarch64

# kernels/ alone, with a BLAS of ten lines: gcc builds them and their tests, clang builds them.
aarch64_make = $(MAKE) --no-print-directory $(JOBS) CPPFLAGS=-Itests/aarch64 CFLAGS='-O2 -Werror' \
  lib_src='$(wildcard kernels/*.c)' FRONT_LIBS='tests/aarch64/sgemm.c -lm -fopenmp'
AARCH64_ROOT ?= /usr/aarch64-linux-gnu
aarch64_tests := $(addprefix $(B)/aarch64/tests/test_,kernels attention streams backward traffic)
aarch64: ## cross-compile kernels/ and run their tests in emulation
	@$(aarch64_make) B=$(B)/aarch64-clang CC='clang --target=aarch64-linux-gnu' $(B)/aarch64-clang/libattnres.a
	@$(aarch64_make) B=$(B)/aarch64 CC=aarch64-linux-gnu-gcc $(aarch64_tests)
	@printf '%s\n' $(aarch64_tests) | xargs -P $$(nproc) -n 1 tests/aarch64/run.sh $(AARCH64_ROOT)

install: all ## into $(prefix), or $(DESTDIR)$(prefix)
	@install -d $(addprefix $(DESTDIR)$(prefix)/,bin share/man/man1 \
	  $(addprefix share/attnres/,devices models studies presets platforms topologies))
	install $(B)/attnres $(DESTDIR)$(prefix)/bin
	@for engine in mpi smpi; do \
	  if [ -f $(B)/$$engine/attnres-rank ]; then \
	    install -D $(B)/$$engine/attnres-rank $(DESTDIR)$(prefix)/libexec/attnres/$$engine/attnres-rank; \
	  fi; done
	install -m 644 topologies/devices/*.ini $(DESTDIR)$(prefix)/share/attnres/devices
	install -m 644 topologies/presets/*.ini $(DESTDIR)$(prefix)/share/attnres/presets
	install -m 644 topologies/platforms/*.xml $(B)/platforms/*.xml $(DESTDIR)$(prefix)/share/attnres/platforms
	install -m 644 topologies/counters.txt $(DESTDIR)$(prefix)/share/attnres/topologies
	install -m 644 sim/models/*.ini $(DESTDIR)$(prefix)/share/attnres/models
	install -m 644 sim/studies/*.ini $(DESTDIR)$(prefix)/share/attnres/studies
	install -m 644 attnres.1 $(DESTDIR)$(prefix)/share/man/man1

clean: ## remove what was built
	rm -rf $(B)

-include $(shell find $(B)/obj $(B)/mpi $(B)/smpi $(B)/tests -name '*.d' 2>/dev/null)

.PHONY: all help unit deps demo asan check bench lint aarch64 install clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:
