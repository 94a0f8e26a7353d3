# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# foreign.sh - Debian packages of another architecture, in folders of our own
#
# Place    tools/sysroot and tests/board/root.sh source it.
# Model    foreign_open gives apt a state of its own: this host's mirrors and keys,
#          another architecture, no package installed. foreign_fetch downloads what
#          packages need, foreign_unpack takes the files out. Nothing of them is run.
# Owner    The caller removes the folders. The host's apt and dpkg are read, never written.
# Errors   One line with cause and cure, then status 1.

foreign_dies() { # TEXT
	echo "${0##*/}: $1" >&2
	exit 1
}

# The mirrors are those of the host, of its own release and of component main: other
# sources seldom have other architectures.
foreign_sources() { # ARCH
	# shellcheck disable=SC1091,SC2016 # the release's own file; apt's own variables
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
		awk -v arch="$1" -v release="$(. /etc/os-release && echo "$VERSION_CODENAME")" '
		(index($2, release) == 1 || index($3, release) == 1) && $4 == "main" && !seen[$1, $2]++ {
			print "deb [arch=" arch " signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]", $1, $2, $4
		}'
}

# Leaves APT_CONFIG set; it is read before the host's own configuration, so what must
# win is said on the command line: foreign_apt.
foreign_open() { # ARCH STATE_DIR
	mkdir -p "$2" && foreign_state=$(cd "$2" && pwd) || exit 1
	command -v apt-get > /dev/null || foreign_dies 'no apt-get here: this needs Debian 12 or 13'
	mkdir -p "$foreign_state/lists/partial" "$foreign_state/archives/partial" || exit 1
	: > "$foreign_state/status"
	foreign_sources "$1" > "$foreign_state/sources.list"
	[ -s "$foreign_state/sources.list" ] ||
		foreign_dies "apt has no source of this host's own Debian release: look at /etc/apt/sources.list.d"
	# Hooks of the host's configuration would work on its caches.
	cat > "$foreign_state/apt.conf" <<- END
	#clear APT::Update;
	#clear DPkg;
	#clear APT::Architectures;
	APT::Architecture "$1";
	APT::Architectures { "$1"; };
	APT::Install-Recommends "false";
	APT::Keep-Downloaded-Packages "true";
	APT::Sandbox::User "root";
	Acquire::Languages "none";
	Acquire::Retries "3";
	Dir::Etc::sourcelist "$foreign_state/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::State::lists "$foreign_state/lists";
	Dir::State::status "$foreign_state/status";
	Dir::State::extended_states "$foreign_state/extended_states";
	Dir::Cache "$foreign_state";
	Dir::Cache::pkgcache "pkgcache.bin";
	Dir::Cache::archives "$foreign_state/archives";
	Dir::Log "$foreign_state";
	END
	foreign_apt -qq update || foreign_dies "apt finds no packages for $1: the lines above say why"
}

foreign_apt() { # ARGUMENTS... of apt-get
	DEBIAN_FRONTEND=noninteractive apt-get -c "$foreign_state/apt.conf" "$@" > "$foreign_state/apt.log" 2>&1 || {
		sed 's/^/apt: /' "$foreign_state/apt.log" >&2
		return 1
	}
}

foreign_versions() { # PACKAGES...: that it would fetch; a line less for one that is not there
	apt-cache -c "$foreign_state/apt.conf" show --no-all-versions "$@" 2> /dev/null | sed -n 's/^Version: //p'
}

# The packages and all that they depend on.
foreign_fetch() { # PACKAGES...
	foreign_apt -qq -y --download-only install "$@" || foreign_dies "not fetched: $*"
}

# The packages alone.
foreign_fetch_only() { # PACKAGES...
	(cd "$foreign_state/archives" && foreign_apt -qq download "$@") || foreign_dies "not fetched: $*"
}

# All that was fetched, with /bin, /sbin and /lib as links into /usr, as on an installed
# system: absolute paths in linker scripts are then right.
foreign_unpack() { # DIR TAR_ARGUMENTS...
	foreign_root=$1
	shift
	for foreign_one in bin sbin lib; do
		mkdir -p "$foreign_root/usr/$foreign_one" && ln -sfn "usr/$foreign_one" "$foreign_root/$foreign_one" || exit 1
	done
	for foreign_one in "$foreign_state"/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$foreign_one" |
			tar -C "$foreign_root" --keep-directory-symlink --no-same-owner "$@" -xf - ||
			foreign_dies "not unpacked: $foreign_one"
	done
}
