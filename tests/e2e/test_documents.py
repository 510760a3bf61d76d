# SPDX-License-Identifier: Apache-2.0
"""What the documents list is what there is: codes, statuses, functions, tables, links, words."""
import re

import pytest
import yaml

from tool import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted(DOCS.rglob("*.md"))]
TROUBLE = (DOCS / "troubleshooting.md").read_text()


def rows(text, heading):
    """First and second column of the first table below a heading, without backticks."""
    below = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = re.findall(r"^\| (.+?) \| (.+?) \|", below, re.M)
    return [(a.strip("`"), b.strip("`")) for a, b in found]


def test_every_error_code_is_explained_with_its_status():
    listed = dict(rows(TROUBLE, "Error codes")[1:])
    document = yaml.safe_load((DOCS / "api/openapi.yaml").read_text())
    error = document["components"]["schemas"]["error"]["properties"]["error"]
    assert set(listed) == set(error["properties"]["code"]["enum"])
    table = (ROOT / "net/http.c").read_text()
    plain = dict((word, status) for status, word in re.findall(r"\] = \{(\d+), \"(\w+)\"\}", table))
    assert len(plain) > 9
    for word, status in plain.items():
        assert word == "ok" or listed[word].split(",")[0] == status, word


def test_every_status_of_a_push_is_explained():
    source = "".join(p.read_text() for p in (ROOT / "push").glob("*.c"))
    words = set(re.findall(r'case UX_PUSH_DONE_\w+:\s+return "([a-z-]+)"', source)) | {"failed"}
    assert len(words) == 5
    assert {name for name, _ in rows(TROUBLE, "Push")[1:]} >= words
    verdicts = set(re.findall(r'\{"([a-z-]+)", UX_PUSH_\w+\}', source))
    assert len(verdicts) == 6
    listed = {name for name, _ in rows(TROUBLE, "Push")}
    assert verdicts <= listed, verdicts - listed


def test_every_exit_status_is_explained():
    values = re.findall(r"UX_EXIT_\w+ = (\d+)", (ROOT / "cli/output/output.h").read_text())
    assert [name for name, _ in rows(TROUBLE, "Exit statuses")[1:]] == values


def test_every_symptom_has_a_message_of_the_program():
    sources = "".join(p.read_text() for folder in ("config", "net", "server", "store", "cli")
                      for p in (ROOT / folder).rglob("*.c"))
    sources = re.sub(r'"\s*\n\s*"', "", sources)
    for message in ("another server uses the folder", "cannot listen on", "unknown key",
                    "the limit of open files is", "has no index.sqlite"):
        assert message in TROUBLE and message in sources, message


def test_libunhex_has_one_row_for_each_function():
    exported = set(re.findall(r"\b(ux_\w+);", (ROOT / "lib/public/libunhex.map").read_text()))
    exported |= set(re.findall(r"\b(ux_\w+);", "".join(
        p.read_text() for p in (ROOT / "net/client").glob("*.map"))))
    listed = [name for row in re.findall(r"^\| (`ux_.*?) \|", (DOCS / "api/library.md").read_text(), re.M)
              for name in re.findall(r"`(ux_\w+)`", row)]
    assert sorted(listed) == sorted(exported)
    headers = {p.name for p in (ROOT / "include/unhex").glob("*.h")} - {"unhex.h", "api.h"}
    text = (DOCS / "api/library.md").read_text()
    assert not [h for h in sorted(headers) if h not in text]


def test_every_table_of_the_index_is_described():
    tables = set()
    for step in sorted((ROOT / "store/schema").glob("*.sql")):
        for verb, name in re.findall(r"^(CREATE|DROP) TABLE (\w+)", step.read_text(), re.M):
            tables = tables - {name} if verb == "DROP" else tables | {name}
    text = (DOCS / "formats/store.md").read_text()
    listed = {name for row in re.findall(r"^\| (`.*?) \|", text, re.M)
              for name in re.findall(r"`(\w+)`", row)}
    assert len(tables) > 10
    assert tables <= listed, tables - listed


def anchors(page):
    """The anchors of a page as GitHub makes them of its headings, and those that are written."""
    text = page.read_text()
    made = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-")
            for h in re.findall(r"^#+ (.*)$", text, re.M)}
    return made | set(re.findall(r'<a id="(.*?)">', text))


COMMENT = re.compile(r"/\*.*?\*/|\"(?:\\\\.|[^\"\\\\\n])*\"|'(?:\\\\.|[^'\\\\\n])*'", re.S)
# Phrases by which comments spoke their own dialect. Clients are behind proxies, and replicas lag behind.
DIALECT = re.compile(r"(?<!lag )(?<!lags )(?<!lags far )\bbehind\b(?! proxies|` )|\bin front of\b|\bthose (?:of|that|which)\b|"
                     r"\bthat of\b|(?<!all )(?<!each )\bof which\b|\bat once\b|\b[Ww]hat (?:is|was|are|were|has|had|the)\b")


def test_comments_use_the_words_of_the_field():
    found = []
    folders = [d for d in ROOT.iterdir() if d.is_dir() and not d.name.startswith(("build", ".", "corpus"))]
    for path in (p for folder in folders for p in folder.rglob("*.[ch]")):
        for comment in COMMENT.findall(path.read_text()):
            if comment.startswith("/*"):
                found += [(path.name, phrase) for phrase in DIALECT.findall(re.sub(r"\s+\*?\s*", " ", comment))]
    assert not found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.S)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), link
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), link


def test_architecture_names_functions_with_their_files():
    """Each paragraph and row that names a function names the file that defines it."""
    folders = [d for d in ROOT.iterdir() if d.is_dir() and not d.name.startswith(("build", ".", "corpus"))]
    sources = [p for folder in folders for p in folder.rglob("*.[ch]")]
    found = 0
    for part in re.split(r"\n(?=\* |\| )|\n\n", (DOCS / "architecture.md").read_text()):
        names = re.findall(r"`([\w/]+\.[ch])`", part)
        files = {name: [p for p in sources if p.as_posix().endswith(f"/{name}")] for name in names}
        assert all(files.values()), files
        text = "".join(p.read_text() for paths in files.values() for p in paths)
        for function in re.findall(r"`(\w+)\(\)`", part) if names else ():
            assert re.search(rf"^(?!extern|typedef)[\w ].*\b{function}\([^;]*\)\n{{", text, re.M), function
            found += 1
    assert found > 20


def test_help_names_no_file_that_is_not_installed():
    for page in (ROOT / "tests/e2e/golden").glob("help*.txt"):
        assert "docs/" not in page.read_text(), page


# Words that readers of the field do not use so, or that say nothing.
AVOIDED = re.compile(r"\b(told|tells|asked|nobody|nobody's|whose word|left alone|not wanted any more|who asks|"
                     r"that is none|that are none)\b", re.I)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_documents_use_the_words_of_the_field(page):
    text = re.sub(r"`[^`]*`|test_\w+", "", page.read_text())
    assert not AVOIDED.findall(text)


def test_messages_use_the_words_of_the_field():
    found = []
    for folder in ("cli", "push", "net", "config", "server", "store", "lib", "fetch", "archive", "sandbox"):
        for source in sorted((ROOT / folder).rglob("*.c")):
            for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', source.read_text()):
                if AVOIDED.search(text):
                    found.append(f"{source.relative_to(ROOT)}: {text}")
    assert not found
