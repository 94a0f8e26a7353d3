#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""k3s - packaging/k3s/saker.yaml against the API's models, itself, and the program; TAP

Usage   k3s.py BUILD_DIR
Model   No cluster and no server: the models are those of Debian's python3-kubernetes, which
        were made from the API's own description. A field that they do not know, of another
        type, or missing where one must be, is an error. Values they do not judge.
"""
import copy
import re
import subprocess
import sys
from pathlib import Path

import yaml
from kubernetes import client

HERE = Path(__file__).resolve().parents[2]
PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": object}
COUNT = [0, 0]


def result(good, name, detail=""):
    COUNT[0] += 1
    COUNT[1] += not good
    print(f"{'ok' if good else 'not ok'} {COUNT[0]} - {name}")
    if not good and detail:
        print(f"# {detail}")


def check(value, kind, path):
    """Does this value fit the model of that name? ValueError with the path if not."""
    if kind.startswith("list["):
        if not isinstance(value, list):
            raise ValueError(f"{path}: a list is wanted")
        for i, one in enumerate(value):
            check(one, kind[5:-1], f"{path}[{i}]")
    elif kind.startswith("dict("):
        if not isinstance(value, dict):
            raise ValueError(f"{path}: a map is wanted")
        for key, one in value.items():
            check(key, "str", path)
            check(one, kind[5:-1].split(", ")[1], f"{path}.{key}")
    elif kind in PLAIN or not hasattr(client, kind):
        wanted = PLAIN.get(kind, object)
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is int):
            raise ValueError(f"{path}: {value!r} is no {kind}")
    else:
        model = getattr(client, kind)
        if not isinstance(value, dict):
            raise ValueError(f"{path}: a {kind} is wanted")
        names = {there: here for here, there in model.attribute_map.items()}
        for key, one in value.items():
            if key not in names:
                raise ValueError(f"{path}: no field {key} in {kind}")
            check(one, model.openapi_types[names[key]], f"{path}.{key}")
        try:
            model(**{names[key]: one for key, one in value.items()})
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


def fits(document):
    try:
        check(document, f"V1{document['kind']}", document["kind"])
    except ValueError as error:
        return str(error)
    return ""


def refused(document, name, change):
    """The check itself can fail."""
    broken = copy.deepcopy(document)
    change(broken)
    result(bool(fits(broken)), f"{name} would be noticed")


def saker_says(build, arguments):
    """The interface is another one here, and loopback wants --io=socket."""
    words = [a for a in arguments if not a.startswith("--interface=")]
    done = subprocess.run([f"{build}/saker", "--check", "-i", "lo", "--io=socket", *words],
                          text=True, capture_output=True, check=False)
    return done.stderr or (dict(line.split(" = ") for line in done.stdout.splitlines())
                           if not done.returncode else done.returncode)


def main():
    build = sys.argv[1]
    documents = list(yaml.safe_load_all((HERE / "packaging/k3s/saker.yaml").read_text()))
    by_kind = {d["kind"]: d for d in documents}
    result(sorted(by_kind) == ["DaemonSet", "Namespace", "Service"], "three objects")
    for kind, document in by_kind.items():
        wrong = fits(document)
        result(not wrong, f"{kind}: every field is one of the API's, and of its type", wrong)

    daemons, service = by_kind["DaemonSet"], by_kind["Service"]
    pod = daemons["spec"]["template"]
    refused(daemons, "a field with a slip in it", lambda d: d["spec"]["template"]["spec"].update(hostNetwrok=True))
    refused(daemons, "a text for a number",
            lambda d: d["spec"]["template"]["spec"].update(terminationGracePeriodSeconds="15"))
    refused(daemons, "a selector that is missing", lambda d: d["spec"].pop("selector"))

    labels = pod["metadata"]["labels"]
    for name, selector in (("DaemonSet", daemons["spec"]["selector"]["matchLabels"]),
                           ("Service", service["spec"]["selector"])):
        result(selector.items() <= labels.items(), f"{name} selects the pod")
    spaces = {d["metadata"].get("namespace") for d in (daemons, service)}
    result(spaces == {by_kind["Namespace"]["metadata"]["name"]}, "all of it in the namespace")

    spec = pod["spec"]
    container, = spec["containers"]
    result(spec["hostNetwork"] and spec["dnsPolicy"] == "ClusterFirstWithHostNet", "the node's network")
    port, = container["ports"]
    told = saker_says(build, container["args"])
    result(isinstance(told, dict), "saker takes the arguments", told)
    asked = {container[probe]["httpGet"]["port"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")}
    result(str(port["containerPort"]) == told["port"] and port["hostPort"] == port["containerPort"]
           and asked == {port["name"]} == {p["targetPort"] for p in service["spec"]["ports"]},
           "saker, pod, probes and Service are of one port")
    result(spec["terminationGracePeriodSeconds"] > int(told["drain-s"]), "time to finish what runs")

    unit = (HERE / "packaging/saker@.service").read_text()
    wanted = re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.M).group(1).split()
    security = container["securityContext"]
    result([f"CAP_{c}" for c in security["capabilities"]["add"]] == wanted
           and security["capabilities"]["drop"] == ["ALL"], "the unit's capabilities, and no others")
    mounts = {m["name"] for m in container["volumeMounts"]}
    result(mounts == {v["name"] for v in spec["volumes"]}, "each mount has its volume")
    print(f"1..{COUNT[0]}")
    sys.exit(bool(COUNT[1]))


main()
