#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""dashboard.py FILE URL: ask a Prometheus each query of a dashboard

A query must be answered, and have a value, but for those that end in "> 0": their panels
are empty when all is well. A quantile must be a number.
"""

import json
import sys
import urllib.parse
import urllib.request

MEANT = {"$__rate_interval": "10s", "$interface": ".*", "$instance": ".*"}


def ask(url, expr):
    for name, value in MEANT.items():
        expr = expr.replace(name, value)
    query = urllib.parse.urlencode({"query": expr})
    try:
        with urllib.request.urlopen(url + "/api/v1/query?" + query, timeout=10) as answer:
            return json.load(answer)["data"]["result"], ""
    except urllib.error.HTTPError as error:
        return None, json.load(error).get("error", str(error))


def main():
    with open(sys.argv[1]) as file:
        panels = json.load(file)["panels"]
    for panel in panels:
        for target in panel.get("targets", ()):
            found, why = ask(sys.argv[2], target["expr"])
            empty = target["expr"].endswith("> 0")
            good = found is not None and (empty or found) and \
                not any(one["value"][1] == "NaN" for one in found if "stage=\"total\"" in target["expr"])
            print("%s - %s, %s" % ("ok" if good else "not ok", panel["title"], target["refId"]))
            if not good:
                print("# %s: %s %s" % (target["expr"], why, found))


main()
