import pytest

from enmesh.errors import InputError
from enmesh.neighbours import chosen


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Every device that counts neighbours; tests of one that is not there are skipped."""
    try:
        chosen(request.param)
    except InputError as missing:
        pytest.skip(str(missing))
    return request.param
