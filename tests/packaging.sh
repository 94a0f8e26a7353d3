#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: packaging.sh BUILD_DIR quick|all
# quick   what packaging/ says, against the programs and against itself; part of `make check`
# all     that, and: the kernel fragment's options against those of Linux 6.12; packages and
#         image made for both architectures and judged by lintian, hardening-check and
#         skopeo; the packages installed, started, stopped and purged in clean Debian 12 and
#         13 roots; the image run, also with each of its capabilities missing. As root; needs
#         Debian's archive.
#
# RELEASE="bookworm trixie"      which roots
# ROOTS=build/roots              where they are kept, RELEASE.tar
# PARTS="kernel deb root image"  some of what `all` does

cd "${0%/*}/.." || exit 1
build=$1
. tests/tally.sh
tally_open "$build/tap-packaging"

# Of tools/deps; it brings them where CI or FULL is set, and then absence is no skip.
absent() { # NAME WHAT
	if [ -n "$CI$FULL" ]; then
		tally_status "$1" sh -c "echo 'no $2: tools/deps install'; false"
	else
		tally_skip "$1" "no $2: FULL=1 tools/deps install"
	fi
}

tally_run tree tests/packaging/tree.sh "$build"
if /usr/bin/python3 -c 'import yaml, kubernetes' 2> /dev/null; then
	tally_run k3s tests/packaging/k3s.py "$build"
else
	absent k3s 'python3-kubernetes'
fi

wants() { # PART
	case " ${PARTS-kernel deb root image} " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

make() {
	command "${MAKE:-make}" -s --no-print-directory "$@" > "$build/packaging.log" 2>&1 || {
		tail -n 20 "$build/packaging.log"
		return 1
	}
}

if [ "$2" = all ]; then
	! wants kernel || tally_run kernel tests/packaging/kernel.sh
	for arch in amd64 arm64; do
		wants deb || break
		tally_need "deb-$arch" make deb ARCH=$arch &&
			tally_run "deb-$arch" tests/packaging/deb.sh build/deb-$arch $arch
	done
	for release in ${RELEASE:-bookworm trixie}; do
		wants root || break
		tally_run "root-$release" tests/packaging/root.sh "$build" "$release"
	done
	if wants image; then
		tally_need image make image && tally_run image tests/packaging/image.sh "$build" build/image/saker.tar
	fi
fi
tally_close
