# SPDX-License-Identifier: GPL-2.0-only
"""test_peers.py - the services of examples/peers, and the loops of docs/peer.md

Place   tests/lab/run.py runs it, without root, on the loopback. BUILD names the folder
        of the programs (build).
Model   The table of docs/peer.md is what is right: it is design.md's, and it is compared with
        the loops of tests/net/clients/hashes.py, which are written from the definition. Then
        each service is asked for every value of the table that it offers, by GET and POST,
        and by saker-load, which verifies by its own means.
Limits  64-bit loops of ten million rounds take Node some seconds each: under CI or FULL=1.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path
from typing import Iterator, Optional

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BUILD", ROOT / "build"))
PEERS = ROOT / "examples" / "peers"
FULL = bool(os.environ.get("CI") or os.environ.get("FULL"))
PATIENCE_S = 60
sys.path.insert(0, str(ROOT / "tests" / "net" / "clients"))
import hashes  # noqa: E402


def table() -> list[tuple[str, Optional[int], int, str]]:
    """Algorithm, seed, n and hash of each cell of docs/peer.md."""
    columns: list[tuple[str, Optional[int]]] = []
    cells = []
    for line in (ROOT / "docs" / "peer.md").read_text(encoding="utf-8").splitlines():
        words = [word.strip() for word in line.strip("|").split("|")]
        if words[0] == "n":
            for word in words[1:]:
                alg, _, seed = word.partition(" seed ")
                columns.append((alg, int(seed) if seed else None))
        elif columns and words[0].isdigit():
            for (alg, seed), value in zip(columns, words[1:]):
                cells.append((alg, seed, int(words[0]), "0x" + value))
        elif columns and cells:
            break
    return cells


def query(alg: str, seed: Optional[int], n: int) -> str:
    return f"/compute?n={n}&alg={alg}" + ("" if seed is None else f"&seed={seed}")


def is_slow(alg: str, n: int) -> bool:
    return n > 100000 and alg != "fnv1a32"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def service(*command: str, port: int) -> Iterator[str]:
    """Started, waited for until it takes connections, and ended by SIGTERM."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
        try:
            end = time.monotonic() + PATIENCE_S
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > end:
                        said.seek(0)
                        what = f"{command[0]} does not listen: {said.read()}"
                        raise AssertionError(what) from None
                    time.sleep(0.02)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def ask(url: str, body: Optional[dict] = None) -> dict:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def status(url: str, body: Optional[bytes] = None) -> int:
    try:
        request = urllib.request.Request(url, body)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


class Table(unittest.TestCase):
    def test_it_is_whole(self) -> None:
        self.assertEqual(len(table()), 42)

    def test_it_is_right(self) -> None:
        for alg, seed, n, value in table():
            if n > 100000:
                continue  # this interpreter takes seconds; the services have them below
            start = hashes.SEED[alg] if seed is None else seed
            self.assertEqual(hashes.compute(alg, n, start), value, f"{alg} seed {seed} n {n}")


class Contract:
    """What each service is held to. Subclasses start one in each test."""

    algorithms = tuple(hashes.WIDTH)
    slow = False  # 64 bits take it long

    def serving(self):
        raise NotImplementedError

    def cells(self) -> list[tuple[str, Optional[int], int, str]]:
        offered = [cell for cell in table() if cell[0] in self.algorithms]
        return [c for c in offered if FULL or not self.slow or not is_slow(c[0], c[2])]

    def test_every_hash_by_get(self) -> None:
        with self.serving() as url:
            for alg, seed, n, value in self.cells():
                answer = ask(url + query(alg, seed, n))
                self.assertEqual((answer["hash"], answer["n"], answer["alg"]), (value, n, alg))

    def test_ten_million_rounds_of_64_bits(self) -> None:
        if self.slow and not FULL:
            self.skipTest("some seconds each: under CI or FULL=1")
        cells = [cell for cell in self.cells() if is_slow(cell[0], cell[2])]
        self.assertEqual(len(cells), 4)  # that test_every_hash_by_get had them

    def test_every_hash_by_post(self) -> None:
        with self.serving() as url:
            for alg, seed, n, value in self.cells():
                if n > 100000:
                    continue
                body = {"n": n, "alg": alg} if seed is None else {"n": n, "alg": alg, "seed": seed}
                self.assertEqual(ask(url + "/compute", body)["hash"], value, body)

    def test_defaults(self) -> None:
        with self.serving() as url:
            self.assertEqual(ask(url + "/compute")["hash"], "0x25be6645")

    def test_mistakes_are_answered_as_such(self) -> None:
        with self.serving() as url:
            for wrong in ("n=x", "n=-1", "n=1&alg=md5", "n=1&seed=4294967296", "n=100000001"):
                self.assertEqual(status(f"{url}/compute?{wrong}"), 400, wrong)
            self.assertEqual(status(url + "/other"), 404)

    def test_saker_load_finds_nothing_wrong(self) -> None:
        load = BUILD / "saker-load"
        if not load.exists():
            self.skipTest(f"{load} is not built: run make first")
        mixed = [f"--mix=1:{query(a, s, n)}" for a, s, n, _ in self.cells() if n <= 1000]
        options = ["--closed", "--connections=4", "--seconds=1", "--warm=0", "--floor=0", "-q"]
        with self.serving() as url, tempfile.NamedTemporaryFile("r") as result:
            subprocess.run(
                [load, *options, *mixed, f"--json={result.name}", url],
                capture_output=True, timeout=PATIENCE_S, check=False,
            )
            done = json.load(result)
        self.assertEqual((done["wrong"], done["errors"], done["timeouts"]), (0, 0, 0), done)
        self.assertGreater(done["ok"], 30 * len(self.algorithms))


@unittest.skipUnless(shutil.which("node"), "no node: tools/deps install")
class Node(Contract, unittest.TestCase):
    slow = True

    def serving(self):
        port = free_port()
        return service("node", str(PEERS / "compute.js"), "127.0.0.1", str(port), port=port)

    def test_big_seeds(self) -> None:
        with self.serving() as url:
            big = hex(2**64 - 1)
            wanted = hashes.compute("mix64", 10, 2**64 - 1)
            self.assertEqual(ask(f"{url}/compute?n=10&alg=mix64&seed={big}")["hash"], wanted)
            body = {"n": 10, "alg": "mix64", "seed": big}
            self.assertEqual(ask(url + "/compute", body)["hash"], wanted)

    def test_bodies_that_are_no_json(self) -> None:
        with self.serving() as url:
            for body in (b"", b"{", b"null", b"n=1"):
                self.assertEqual(status(url + "/compute", body), 400, body)


@unittest.skipUnless((BUILD / "saker").exists(), f"{BUILD}/saker is not built: run make first")
class SocketRung(Contract, unittest.TestCase):
    def serving(self):
        port = free_port()
        os.environ["SAKER"] = str(BUILD / "saker")
        return service(str(PEERS / "socket.sh"), "127.0.0.1", str(port), "-q", port=port)


NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


@unittest.skipUnless(NGINX, "no nginx: tools/deps install")
class Constant(unittest.TestCase):
    """nginx has one answer: that to n=0."""

    def test_its_answer_is_right(self) -> None:
        port = free_port()
        here = f"listen 127.0.0.1:{port} "
        text = (PEERS / "nginx.conf").read_text(encoding="utf-8")
        self.assertIn("listen 8080 ", text)
        with tempfile.TemporaryDirectory() as folder:
            conf = Path(folder, "conf")
            conf.write_text(text.replace("listen 8080 ", here), encoding="utf-8")
            words = [NGINX, "-e", f"{folder}/error", "-p", folder, "-c", str(conf)]
            with service(*words, port=port) as url:
                answer = ask(url + "/compute?n=0")
        self.assertEqual((answer["hash"], answer["n"]), ("0x811c9dc5", 0))


class Loops(unittest.TestCase):
    """The loops of docs/peer.md, as they stand there, with a few lines round them."""

    WANTED = "050c5d1f e0d6c7e2 25be6645"
    CALLS = ((1, 2166136261), (1000, 42), (10000000, 2166136261))

    def block(self, language: str) -> str:
        text = (ROOT / "docs" / "peer.md").read_text(encoding="utf-8")
        found = re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)
        self.assertEqual(len(found), 1, language)
        return found[0]

    def tool(self, *names: str) -> str:
        for name in names:
            if shutil.which(name):
                return name
        self.skipTest(f"no {' and no '.join(names)} here")

    def built(self, source: str, text: str, *command: str) -> None:
        """COMMAND is told FILE and OUT; what it makes, or itself, prints the hashes."""
        with tempfile.TemporaryDirectory() as folder:
            file, out = Path(folder, source), Path(folder, "out.exe")
            file.write_text(text, encoding="utf-8")
            words = [word.replace("FILE", str(file)).replace("OUT", str(out)) for word in command]
            how = {"capture_output": True, "text": True, "timeout": PATIENCE_S, "cwd": folder}
            made = subprocess.run(words, **how)
            self.assertEqual(made.returncode, 0, made.stderr)
            if "OUT" in " ".join(command):
                run = [str(out)] if source != "a.cs" else ["mono", str(out)]
                made = subprocess.run(run, **how)
            self.assertEqual(made.stdout.split(), self.WANTED.split())

    def calls(self, form: str) -> str:
        return "\n".join(form.format(n, seed) for n, seed in self.CALLS)

    def test_c(self) -> None:
        main = self.calls('printf("%08x\\n", fnv1a32({}u, {}u));')
        text = f"#include <stdio.h>\n{self.block('c')}\nint main(void) {{ {main} return 0; }}\n"
        self.built("a.c", text, self.tool("cc"), "-O2", "-Wall", "-Werror", "-o", "OUT", "FILE")

    def test_rust(self) -> None:
        main = self.calls('println!("{{:08x}}", fnv1a32({}, {}));')
        text = f"{self.block('rust')}\nfn main() {{ {main} }}\n"
        self.built("a.rs", text, self.tool("rustc"), "-O", "-o", "OUT", "FILE")

    def test_js(self) -> None:
        main = self.calls("console.log(fnv1a32({}, {}).toString(16).padStart(8, '0'));")
        self.built("a.js", self.block("js") + main, self.tool("node"), "FILE")

    def test_go(self) -> None:
        main = self.calls('fmt.Printf("%08x\\n", fnv1a32({}, {}))')
        text = f'package main\nimport "fmt"\n{self.block("go")}\nfunc main() {{\n{main}\n}}\n'
        self.built("a.go", text, self.tool("go"), "run", "FILE")

    def test_csharp(self) -> None:
        main = self.calls('System.Console.WriteLine(Fnv1a32({}, {}).ToString("x8"));')
        text = f"class A {{\n{self.block('csharp')}\nstatic void Main() {{ {main} }}\n}}\n"
        self.tool("mono")
        self.built("a.cs", text, self.tool("mcs", "csc"), "-checked+", "-out:OUT", "FILE")


if __name__ == "__main__":
    unittest.main()
