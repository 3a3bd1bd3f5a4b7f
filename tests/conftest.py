from pathlib import Path

import pytest

from enmesh.errors import InputError
from enmesh.neighbours import chosen

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture
def shared_data():
    """Folder of public recordings; tests that need it are skipped where it is not there."""
    if not SHARED.is_dir():
        pytest.skip("the public recordings are not beside the project (../shared/data)")
    return SHARED


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Every device that counts neighbours; tests of one that is not there are skipped."""
    try:
        chosen(request.param)
    except InputError as missing:
        pytest.skip(str(missing))
    return request.param
