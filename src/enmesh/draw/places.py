"""Where nodes are in the world: given by hand, by an MNE montage, or by longitude and latitude; and a picture."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from enmesh.data.table import listed
from enmesh.errors import InputError, refuse_if

PROJECTIONS = ("plane", "head", "geographic")
PICTURES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".svg": "image/svg+xml"}
Ends = tuple[float, float, float, float]


@dataclass(frozen=True, kw_only=True)
class Places:
    """Places of all nodes, x to the right and y upward, and a picture behind them with its left, right, bottom, top."""

    points: np.ndarray
    picture: Path | None = None
    ends: Ends | None = None

    @property
    def address(self) -> str:
        """The picture as an address that holds all of it."""
        if self.picture is None:
            return ""
        kind = PICTURES[self.picture.suffix.lower()]
        return f"data:{kind};base64,{base64.b64encode(self.picture.read_bytes()).decode('ascii')}"


def places_of(names: Sequence[str], positions: Any, *, projection: str = "", background: Any = None) -> Places | None:
    """Return the places of nodes; None where none are given.

    Parameters
    ----------
    positions
        ``{name: (x, y)}``, ``{name: (x, y, z)}``, or an MNE montage, Info or Raw.
    projection
        ``"plane"`` takes x and y as they are, ``"head"`` looks at a head from above (three numbers),
        ``"geographic"`` takes longitude and latitude in degrees. By default what the numbers fit.
    background
        A picture (png, jpg, svg), or ``(picture, (left, right, bottom, top))`` in the units of the positions.

    Examples
    --------
    >>> places_of(["a", "b"], {"a": (0, 0), "b": (1, 2)}).points.tolist()
    [[0.0, 0.0], [1.0, 2.0]]
    """
    if positions is None:
        refuse_if(background is not None, "a background needs positions; give positions={name: (x, y)}")
        return None
    given = _given(names, positions)
    how = projection or ("head" if given.shape[1] == 3 else "plane")
    refuse_if(how not in PROJECTIONS, f"projection={how!r} is not known; choose one of {', '.join(PROJECTIONS)}")
    refuse_if(
        how == "head" and given.shape[1] != 3, "a head needs three numbers for each place; use projection='plane'"
    )
    centre = given.mean(axis=0)
    points = _projected(given, how, centre)
    picture, ends = _background(background, points, how, centre)
    return Places(points=points, picture=picture, ends=ends)


def coordinates(names: Sequence[str], positions: Any) -> np.ndarray:
    """Return the places of nodes in space, as rows of x, y and z; z is 0 where two numbers are given.

    >>> coordinates(["a", "b"], {"a": (0, 0), "b": (1, 2)}).tolist()
    [[0.0, 0.0, 0.0], [1.0, 2.0, 0.0]]
    """
    given = _given(names, positions)
    return np.pad(given, ((0, 0), (0, 3 - given.shape[1])))


def _given(names: Sequence[str], positions: Any) -> np.ndarray:
    """Return the places of nodes as they were given, two or three numbers in a row."""
    known = _mapping(positions)
    missing = [name for name in names if name not in known]
    refuse_if(bool(missing), f"positions have no place for {listed(missing)}; give {{name: (x, y)}} for every node")
    try:
        given = np.array([[float(part) for part in known[name]] for name in names])
    except (TypeError, ValueError):
        raise InputError("a place is two numbers, or three; give positions={name: (x, y)}") from None
    if given.ndim != 2 or given.shape[1] not in (2, 3) or not np.isfinite(given).all():
        raise InputError("a place is two numbers, or three, for every node; give positions={name: (x, y)}")
    return given


def _mapping(positions: Any) -> Mapping[str, Any]:
    if isinstance(positions, Mapping):
        return positions
    montage = positions.get_montage() if hasattr(positions, "get_montage") else positions
    if hasattr(montage, "get_positions"):
        return dict(montage.get_positions()["ch_pos"])
    raise InputError("positions are {name: (x, y)}, or an MNE montage or recording that has one")


def _projected(given: np.ndarray, how: str, centre: np.ndarray) -> np.ndarray:
    """Return points on a plane: a head from above keeps distances from its top; a map is true at its middle."""
    if how == "head":
        radius = np.linalg.norm(given, axis=1)
        radius = np.where(radius > 0, radius, 1.0)
        away = np.arccos(np.clip(given[:, 2] / radius, -1, 1))
        turn = np.arctan2(given[:, 1], given[:, 0])
        return np.column_stack([away * np.cos(turn), away * np.sin(turn)])
    if how == "geographic":
        return np.column_stack([given[:, 0] * np.cos(np.radians(centre[1])), given[:, 1]])
    return given[:, :2]


def _background(background: Any, points: np.ndarray, how: str, centre: np.ndarray) -> tuple[Path | None, Ends | None]:
    if background is None:
        return None, None
    path, ends = background if isinstance(background, (tuple, list)) else (background, None)
    path = Path(path)
    refuse_if(
        path.suffix.lower() not in PICTURES, f"cannot show {path.name!r}; give a picture in {', '.join(PICTURES)}"
    )
    refuse_if(not path.is_file(), f"there is no picture {path}; correct the path")
    if ends is None:
        (left, bottom), (right, top) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
        return path, (left, right, bottom, top)
    refuse_if(len(ends) != 4, "a background has four ends; give (picture, (left, right, bottom, top))")
    left, right, bottom, top = map(float, ends)
    scale = float(np.cos(np.radians(centre[1]))) if how == "geographic" else 1.0
    return path, (left * scale, right * scale, bottom, top)
