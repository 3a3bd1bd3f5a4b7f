from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture
def shared_data():
    """Folder of public recordings; tests that need it are skipped where it is not there."""
    if not SHARED.is_dir():
        pytest.skip("the public recordings are not beside the project (../shared/data)")
    return SHARED
