#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""bundle - an image made ready for a runtime, and its digests checked on the way

Usage   bundle.py IMAGE.tar ARCH FOLDER NETNS CAPABILITIES ARGUMENTS...
Model   FOLDER gets rootfs/ and config.json of the OCI runtime specification: read-only
        root, namespaces of its own, the network of NETNS (a path), a BPF file system, the
        capabilities named, separated by spaces, and no others; no cgroup limits.
        Memory may be locked up to $MEMLOCK bytes, or 8 MiB, systemd's default.
"""
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
from pathlib import Path

MOUNTS = [
    ("/proc", "proc", []),
    ("/dev", "tmpfs", ["nosuid", "mode=755"]),
    ("/tmp", "tmpfs", ["nosuid", "nodev"]),
    ("/sys", "sysfs", ["nosuid", "nodev", "noexec"]),
    ("/sys/fs/bpf", "bpf", ["nosuid", "nodev", "noexec"]),
]


class Image:
    def __init__(self, path):
        with tarfile.open(path) as tar:
            self.files = {m.name: tar.extractfile(m).read() for m in tar if m.isfile()}

    def blob(self, descriptor):
        kind, digest = descriptor["digest"].split(":")
        data = self.files[f"blobs/{kind}/{digest}"]
        assert hashlib.new(kind, data).hexdigest() == digest, digest
        assert len(data) == descriptor["size"], digest
        return data

    def text(self, descriptor):
        return json.loads(self.blob(descriptor))

    def manifest(self, arch):
        top = json.loads(self.files["index.json"])
        index = self.text(top["manifests"][0])
        return self.text(next(m for m in index["manifests"] if m["platform"]["architecture"] == arch))


def main():
    path, arch, folder, netns, capabilities, *arguments = sys.argv[1:]
    image, folder = Image(path), Path(folder)
    manifest = image.manifest(arch)
    config = image.text(manifest["config"])
    assert config["architecture"] == arch
    root = folder / "rootfs"
    root.mkdir(parents=True)
    for layer, diff in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        tar = gzip.decompress(image.blob(layer))
        assert "sha256:" + hashlib.sha256(tar).hexdigest() == diff
        with tarfile.open(fileobj=io.BytesIO(tar)) as files:
            files.extractall(root)
    wanted = capabilities.split()
    memlock = int(os.environ.get("MEMLOCK", 8 << 20))
    runtime = {
        "ociVersion": "1.0.0", "hostname": "saker", "root": {"path": "rootfs", "readonly": True},
        "process": {
            "terminal": False, "user": {"uid": 0, "gid": 0}, "cwd": config["config"]["WorkingDir"],
            "args": config["config"]["Entrypoint"] + arguments, "env": config["config"]["Env"],
            "noNewPrivileges": True,
            "rlimits": [{"type": "RLIMIT_MEMLOCK", "soft": memlock, "hard": memlock}],
            "capabilities": {kind: wanted for kind in ("bounding", "effective", "permitted")}},
        "mounts": [{"destination": to, "type": kind, "source": kind, "options": options}
                   for to, kind, options in MOUNTS],
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")]
                  + [{"type": "network", "path": netns}]}}
    (folder / "config.json").write_text(json.dumps(runtime, indent=1))


main()
