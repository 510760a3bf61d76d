# SPDX-License-Identifier: Apache-2.0
"""The server and the helpers of the end-to-end tests serve here too."""
import pathlib
import sys

E2E = pathlib.Path(__file__).resolve().parents[1] / "e2e"
sys.path.insert(0, str(E2E))

import pytest  # noqa: E402

from watched_server import Watched  # noqa: E402


def end_to_end():
    """The module of tests/e2e/conftest.py, which is named as this one is."""
    import importlib.util
    spec = importlib.util.spec_from_file_location("end_to_end", E2E / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["end_to_end"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def settings():
    """Those of the server, which has little memory to give."""
    return "memory = 64M\n"


@pytest.fixture
def server(tmp_path, settings):
    """A server with these settings, until the test ends."""
    (tmp_path / "conf").write_text(settings)
    s = end_to_end().Server(tmp_path / "server", options=("--config", str(tmp_path / "conf"))).start()
    yield s
    assert s.stop() in (0, None)


@pytest.fixture
def watched(server):
    """The same, observed."""
    w = Watched(server)
    yield w
    w.close()
