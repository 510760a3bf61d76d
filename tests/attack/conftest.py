# SPDX-License-Identifier: Apache-2.0
"""The server and the helpers of the end-to-end tests serve here too."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e/helpers"))

import pytest  # noqa: E402

from unhex_server import Server  # noqa: E402
from watched_server import PROBES, Watched  # noqa: E402


@pytest.fixture
def settings():
    """Those of the server, which has little memory to give."""
    return "memory = 64M\n"


@pytest.fixture
def server(tmp_path, settings):
    """A server with these settings, until the test ends."""
    (tmp_path / "conf").write_text(settings)
    s = Server(tmp_path / "server", options=("--config", str(tmp_path / "conf"), *PROBES)).start()
    yield s
    assert s.stop() in (0, None)


@pytest.fixture
def watched(server):
    """The same, observed."""
    w = Watched(server)
    yield w
    w.close()
