import gc
import shlex
import signal

import hypothesis
import pytest

from enmesh import Network
from enmesh.cli import main
from enmesh.errors import InputError
from enmesh.inference.store import runs
from enmesh.neighbours import chosen

# A shell may have signals ignored (nohup, jobs in the background), which programs that tests start would inherit.
for name, usual in {"SIGINT": signal.default_int_handler, "SIGTERM": signal.SIG_DFL, "SIGHUP": signal.SIG_DFL}.items():
    if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_IGN:
        signal.signal(getattr(signal, name), usual)

hypothesis.settings.register_profile("enmesh", deadline=None)  # a busy machine is no fault
hypothesis.settings.load_profile("enmesh")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Every device that counts neighbours; tests of one that is not there are skipped."""
    try:
        chosen(request.param)
    except InputError as missing:
        pytest.skip(str(missing))
    return request.param


@pytest.fixture
def shell(capsys):
    """Run a command line in this process; return its exit code, stdout and stderr.

    The pictures and the page of a network take longer than the rest: they are left empty where no test looks at them.
    """

    def call(line, pages=False):
        with pytest.MonkeyPatch.context() as patch:
            if line.startswith("infer") and not pages:
                for name in ("plot", "report"):
                    patch.setattr(Network, name, lambda network, path: path.touch())
            code = main(shlex.split(line))
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def finished_tests():
    """How many tests of a run that goes on elsewhere are in its store."""

    def count(store):
        try:
            return sum(entry["tests"] for entry in runs(store))
        except InputError:
            return 0

    return count


def pytest_collection_finish(session):
    """What was collected stays: looking through it for garbage takes half a second each time."""
    gc.collect()
    gc.freeze()
