"""``frame.enmesh``: what can be asked of a pandas DataFrame, a row per sample and a column per node."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from enmesh.network.network import Network


class Accessor:
    """What can be asked of a DataFrame, with the options of the functions of the same names.

    >>> import pandas as pd
    >>> import enmesh as em
    >>> frame = em.simulate.var("a>b", n=500, seed=0).to_dataframe()
    >>> frame.enmesh.infer().parents
    {'a': (), 'b': ('a',)}
    """

    def __init__(self, frame: "pd.DataFrame"):
        self._frame = frame

    def infer(self, **options: Any) -> "Network":
        """Infer which column drives which: `enmesh.infer`."""
        return _public("infer")(self._frame, **options)

    def inspect(self, **options: Any) -> Any:
        """Say what the data are, what would be done, and what to do first: `enmesh.inspect`."""
        return _public("inspect")(self._frame, **options)

    def significance(self, source: str | Sequence[str], target: str, **options: Any) -> Any:
        """Test one transfer entropy: `enmesh.significance`."""
        return _public("significance")(self._frame, source, target, **options)

    def lag_profile(self, source: str, target: str, **options: Any) -> Any:
        """Return transfer entropy at every lag: `enmesh.lag_profile`."""
        return _public("lag_profile")(self._frame, source, target, **options)

    def series(self, **reading: Any) -> Any:
        """Return the frame as a `Series`."""
        return _public("Series")(self._frame, **reading)


def _public(name: str) -> Any:
    return getattr(sys.modules["enmesh"], name)


def _register(pandas: ModuleType) -> None:
    pandas.api.extensions.register_dataframe_accessor("enmesh")(Accessor)


class _WhenImported:
    """Registers the accessor when pandas is imported, so that ``import enmesh`` need not import it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return how pandas is imported, with one step more; None for all other modules."""
        if name != "pandas":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_register(module: ModuleType) -> None:
                run(module)
                _register(module)

            spec.loader.exec_module = run_and_register  # type: ignore[method-assign]
        return spec


def register() -> None:
    """Give DataFrames the accessor: now, or when pandas is imported."""
    if "pandas" in sys.modules:
        _register(sys.modules["pandas"])
    else:
        sys.meta_path.insert(0, _WhenImported())
