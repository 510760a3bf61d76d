#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Times named OpenTelemetry profiles: addresses of libjvm that a recording of a JVM has, each once.

The recording is the one of `./dev bench profile` (bench/profile.py makes it if it is missing). Its locations in
libjvm, in the order of their first sample and shuffled, are sent in messages of 10,000 to the server's handler
without a socket (bench/symbolize otlp): as new ones (only the last fifth counts), and as known ones. Then a
million different random addresses of libjvm, as new ones (all count), including the time in which the frame
cache is filled in the background. Times are the processor's, the smallest of some rounds, each with a server of
its own.
"""
import argparse
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from bench import random_addresses  # noqa: E402
from profile import RATE, libjvm, pprof_of, record, restore_maps, show  # noqa: E402

BATCH = "10000"
MANY = 1_000_000
NEW, KNOWN = 1_000_000, 20_000_000  # goals: locations a second


def load_bias(path):
    """Address minus offset in the file of the segment with code."""
    for line in subprocess.run(["readelf", "-lW", path], check=True, capture_output=True, text=True).stdout.splitlines():
        found = re.match(r"\s+LOAD\s+(0x\w+) (0x\w+) 0x\w+ 0x\w+ 0x\w+ R E", line)
        if found:
            return int(found[2], 16) - int(found[1], 16)
    raise ValueError(f"{path} has no code")


def addresses_of(profile, library):
    """Addresses of the library, each once, in the order of the profile's locations."""
    texts = list(profile.string_table)
    bias = load_bias(library)
    to_file = {m.id: m.file_offset - m.memory_start + bias for m in profile.mapping
               if os.path.basename(texts[m.filename]) == library.name}
    return list(dict.fromkeys(x.address + to_file[x.mapping_id] for x in profile.location if x.mapping_id in to_file))


def debug_file(library):
    """Its debug information, by the build ID."""
    identity = re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", library], check=True, capture_output=True,
                                                            text=True).stdout)[1]
    return Path(f"/usr/lib/debug/.build-id/{identity[:2]}/{identity[2:]}.debug")


def bench_order(options, name, gsym, addresses, work):
    """A line for new ones and one for known ones."""
    path = work / "addresses"
    path.write_bytes(struct.pack(f"={len(addresses)}Q", *addresses))
    late, known, floor, whole = [], [], [], []
    for _ in range(options.rounds):
        out = subprocess.run([options.build / "bench/symbolize", "otlp", gsym, path, BATCH], check=True,
                             capture_output=True, text=True).stdout
        whole.append(float(re.search(r"new (\d+) ns", out)[1]))
        late.append(float(re.search(r"the last fifth (\d+) ns", out)[1]))
        known.append(float(re.search(r"seen ([\d.]+) ns", out)[1]))
        floor.append(float(re.search(r"floor: ([\d.]+) ns", out)[1]))
    new, seen = min(late), min(known)
    show(f"new locations, {name}", f"{min(whole):6.0f} ns each, {new:.0f} the last fifth ({1e3 / new:.2f} million a second)",
         "1 million", 1e9 / new >= NEW)
    show(f"known locations, {name}", f"{seen:6.1f} ns ({1e3 / seen:.1f} million a second), floor {min(floor):.1f} ns",
         "20 million", 1e9 / seen >= KNOWN)


def bench_million(options, gsym, library, work):
    """A line for a million new ones, from the first to the last."""
    addresses = list(dict.fromkeys(random_addresses(library, 2 * MANY)))[:MANY]
    path = work / "million"
    path.write_bytes(struct.pack(f"={len(addresses)}Q", *addresses))
    runs = []
    for _ in range(options.rounds):
        out = subprocess.run([options.build / "bench/symbolize", "otlp", gsym, path, BATCH, "0"], check=True,
                             capture_output=True, text=True).stdout
        runs.append((float(re.search(r"new (\d+) ns", out)[1]), float(re.search(r"in (\d+) ms", out)[1])))
    new, filling = min(runs)
    show(f"{len(addresses)} new locations", f"{new:6.0f} ns each ({1e3 / new:.2f} million a second), with {filling:.0f} ms in "
         "which the frame cache is filled", "1 million", 1e9 / new >= NEW)


def main():
    """Two lines an order, and one for a million."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=Path, help="build folder to time")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--keep", type=Path, help="folder for the GSYM and the addresses, which stay there")
    options = parser.parse_args()
    options.build = options.build.resolve()
    subprocess.run(["ninja", "-C", options.build, "--quiet", "cli/unhex", "bench/symbolize"], check=True)
    unhex, folder = str(options.build / "cli/unhex"), options.build / "profile" / "recording"
    folder.mkdir(parents=True, exist_ok=True)
    data = record(folder, RATE, "perf.data", "fp")
    restore_maps(folder)
    with tempfile.TemporaryDirectory() as temporary:
        work = options.keep or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        gsym = work / "libjvm.gsym"
        subprocess.run([unhex, "extract", debug_file(libjvm()), "-o", gsym], check=True, stdout=subprocess.DEVNULL)
        addresses = addresses_of(pprof_of(unhex, data, work / "all.pb"), libjvm())
        shuffled = random.Random(1).sample(addresses, len(addresses))
        print(f"{len(addresses)} addresses of libjvm, in messages of {BATCH}", flush=True)
        bench_order(options, "in order", gsym, addresses, work)
        bench_order(options, "shuffled", gsym, shuffled, work)
        bench_million(options, gsym, debug_file(libjvm()), work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
