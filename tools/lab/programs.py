# SPDX-License-Identifier: GPL-2.0-only
"""programs - where ours are: in --build, beside saker-lab, in the build folder, or in PATH

Place   subject, facts and run ask it
"""
from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Optional

import process
from trouble import Trouble


class Programs:
    def __init__(self, build: Optional[str], command: Path):
        """`command` is the folder that saker-lab is in."""
        if build and not Path(build).is_dir():
            raise Trouble(f"--build={build}: no such folder; run `make` first")
        self.folder = Path(build).resolve() if build else command.parent / "build"
        if not build and not (self.folder / "saker").exists():
            self.folder = command

    def find(self, name: str) -> Optional[str]:
        own = self.folder / name
        return str(own) if os.access(own, os.X_OK) else shutil.which(name)

    def need(self, name: str) -> str:
        path = self.find(name)
        if not path:
            raise Trouble(f"no {name} in {self.folder} nor in PATH; run `make`, or name its "
                          "folder with --build=DIR")
        return path

    def version(self, name: str) -> Optional[str]:
        path = self.find(name)
        if not path:
            return None
        done = process.run([path, "--version"], 10)
        return process.last_line(done.stdout or done.stderr) or None
