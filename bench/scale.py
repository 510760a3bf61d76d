#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Computes the tables of docs/scale.md from bench/scale_inputs.json, or from another file of the same form.

Nothing is measured here. Each input says where it is from: a command that measured it, or why it is assumed.
"""
import json
import sys
from pathlib import Path

INPUTS = Path(__file__).with_name("scale_inputs.json")
DAY_S = 86400


class Model:
    """The inputs by name, and the results computed from them."""

    def __init__(self, document):
        self.document = document
        self.value = {k: v["value"] for part in ("measured", "assumed") for k, v in document[part].items()}

    def __getattr__(self, name):
        try:
            return self.value[name]
        except KeyError:
            raise AttributeError(name) from None

    def inputs(self):
        """Rows of measured and assumed values."""
        yield ("measured", "value", "by")
        for name, one in self.document["measured"].items():
            yield (f"`{name}`", f"{one['value']:,} {one['unit']}", one["from"])
        yield None
        yield ("assumed", "value", "because")
        for name, one in self.document["assumed"].items():
            yield (f"`{name}`", f"{one['value']:,}", one["why"])

    def load(self):
        """Rows of the cost of this many hosts."""
        frames = self.hosts * self.busy_cores * self.samples_per_core_s * self.frames_per_sample
        new = frames * self.new_share
        queried = self.hosts * self.modules_per_host * self.queries_per_module_day
        gsym = self.builds_per_day * self.debug_mb_per_build * self.gsym_per_debug_bytes
        kernels = self.kernels_kept * self.modules_per_kernel
        modules = self.builds_per_day * self.days_kept + kernels
        requests = self.builds_per_day * 30 * self.usd_of_requests()
        yield ("what", "how much", "from")
        yield ("frames a second, all", f"{frames / 1e6:,.0f} million", "hosts x busy_cores x samples_per_core_s x frames_per_sample")
        yield ("cores for all of them, compact form", f"{frames / self.compact_addresses_per_cpu_s:,.0f}", "/ compact_addresses_per_cpu_s")
        yield ("frames a second, new ones", f"{new / 1e6:,.2f} million", "x new_share")
        yield ("cores for these, JSON", f"{new / self.json_addresses_per_cpu_s:,.2f}", "/ json_addresses_per_cpu_s")
        yield ("IDs queried a second", f"{queried / DAY_S:,.0f}", "hosts x modules_per_host x queries_per_module_day")
        yield ("cores for these, SQLite", f"{queried / DAY_S / 10_000 * self.query_cpu_ms / 1000:.4f}", "in batches of 10,000 x query_cpu_ms")
        yield ("cores for these, PostgreSQL", f"{queried / DAY_S / 10_000 * self.query_cpu_ms_postgres / 1000:.4f}",
               "in batches of 10,000 x query_cpu_ms_postgres")
        yield ("cores to note their uses", f"{queried / DAY_S * self.use_cpu_us / 1e6:.4f}", "x use_cpu_us")
        yield ("uploads a day", f"{self.builds_per_day:,}, one in {DAY_S / self.builds_per_day:.1f} s", "builds_per_day")
        yield ("bytes stored a day", f"{gsym / 1000:,.0f} GB", "builds_per_day x debug_mb_per_build x gsym_per_debug_bytes")
        yield ("bytes stored in all", f"{gsym * self.days_kept / 1e6:,.1f} TB", "x days_kept")
        yield ("modules of kernels", f"{kernels:,}", "kernels_kept x modules_per_kernel")
        yield ("modules", f"{modules / 1e6:,.1f} million", "builds_per_day x days_kept, and those of kernels")
        yield ("index, SQLite", f"{modules * self.module_bytes_sqlite / 1e9:,.1f} GB", "x module_bytes_sqlite")
        yield ("index, PostgreSQL", f"{modules * self.module_bytes_postgres / 1e9:,.1f} GB", "x module_bytes_postgres")
        yield ("hours of a check of all", f"{modules / self.check_objects_per_s / 3600:.1f}", "modules / check_objects_per_s")
        yield ("hours of a move to another bucket", f"{modules / self.migrate_objects_per_s / 3600:.1f}",
               "modules / migrate_objects_per_s")
        yield ("requests to the object store a month", f"{requests:,.1f} USD", "builds_per_day x puts_per_module and gets_per_module")
        yield ("object store a month", f"{gsym * self.days_kept / 1000 * self.usd_per_gb_month:,.0f} USD", "x usd_per_gb_month")

    def usd_of_requests(self):
        """Price of the requests that store a module."""
        return (self.puts_per_module * self.usd_per_1000_puts + self.gets_per_module * self.usd_per_1000_gets) / 1000

    def crawl(self, gb, stored_per_fetched, modules):
        """Processor hours, days of one machine and mirror, GB stored, USD once, USD a month."""
        hours = gb * 1000 / self.crawl_mb_per_cpu_s / 3600
        stored = gb * stored_per_fetched
        once = hours * self.usd_per_core_hour / self.used_share + gb * self.usd_per_gb_in + modules * self.usd_of_requests()
        days = max(hours / (24 * self.cores * self.used_share), gb * 1000 / self.mirror_mb_per_s / DAY_S)
        return hours, days, stored, once, stored * self.usd_per_gb_month

    def distributions(self):
        """Rows of a crawl of each, and of all."""
        yield ("distribution", "packages", "modules", "GB fetched", "core hours", "days", "GB stored", "USD once", "USD a month",
               "GB fetched a day", "size from")
        total = [0.0] * 9
        for one in self.document["distributions"]:
            share = one.get("stored_per_fetched", self.stored_per_fetched)
            stripped = "stored_per_fetched" in one
            modules = one["packages"] * (self.modules_per_stripped_package if stripped else self.modules_per_debug_package)
            numbers = [one["packages"], modules, one["gb"], *self.crawl(one["gb"], share, modules), one["gb"] * one["day_share"]]
            total = [a + b for a, b in zip(total, numbers)]
            yield (one["name"], *shown(numbers), one["from"])
        yield ("all", *shown(total), "")
        hours, days, stored, once, _ = self.crawl(total[8], total[5] / total[2], total[1] * total[8] / total[2])
        yield ("each day then", "", f"{total[1] * total[8] / total[2]:,.0f}", f"{total[8]:.1f}", f"{hours:.2f}", f"{days:.3f}", f"{stored:.2f}", f"{once:.2f}", "", "",
               "day_share of each")


def shown(numbers):
    """Numbers of a row of the crawl."""
    return [f"{v:,.0f}" if i <= 1 else f"{v:,.2f}" if i in (4, 6, 8) else f"{v:,.1f}" for i, v in enumerate(numbers)]


def table(rows):
    """Lines of Markdown; None begins another table."""
    head = True
    for row in rows:
        if row is None:
            yield ""
            head = True
            continue
        yield "| " + " | ".join(map(str, row)) + " |"
        if head:
            yield "|" + "---|" * len(row)
            head = False


def main():
    """Three groups of tables."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else INPUTS
    model = Model(json.loads(path.read_text(encoding="utf-8")))
    for name, rows in (("Inputs", model.inputs()), ("Load", model.load()), ("Crawl", model.distributions())):
        print(f"<!-- {name} -->", *table(rows), "", sep="\n")


if __name__ == "__main__":
    main()
