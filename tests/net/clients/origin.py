# SPDX-License-Identifier: GPL-2.0-only
"""Both paths of one origin, in a random order, by http.client or by requests.

origin.py ADDRESS PORT CLIENT    http.client or requests
Prints "ok - NAME" or "not ok - NAME".
"""
import http.client
import random
import sys
import threading

address, port, client_name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
origin = f"http://{f'[{address}]' if ':' in address else address}:{port}"
RIGHT = {"/": "the page\n", "/compute?n=1000": '"hash":"0xa06ae7fd"'}
COUNT = 500


def targets(seed):
    chosen = random.Random(seed)
    return [chosen.choice(list(RIGHT)) for _ in range(COUNT)]


def report(name, got):
    print(f"ok - {name}" if got == COUNT else f"not ok - {name}\n# {got} of {COUNT} right", flush=True)


def by_http_client():
    client = http.client.HTTPConnection(address, port, timeout=10)
    right = 0
    for target in targets(1):
        client.request("GET", target)
        answer = client.getresponse()
        right += answer.status == 200 and RIGHT[target] in answer.read().decode()
    return right


def by_requests():
    import requests  # not everybody has it

    right = [0] * 5
    session = requests.Session()

    def some(number):
        for target in targets(2)[number::5]:
            answer = session.get(origin + target, timeout=10)
            right[number] += answer.status_code == 200 and RIGHT[target] in answer.text

    threads = [threading.Thread(target=some, args=(i,)) for i in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(right)


if client_name == "requests":
    report(f"requests: {COUNT} of both, five threads of one session", by_requests())
else:
    report(f"http.client: {COUNT} of both", by_http_client())
